"""The scalar types of generated code under their short names: `i32(5)`, `x.astype(bf16)`."""

import ml_dtypes
import numpy as np

i1, i8, i16, i32, i64 = np.bool_, np.int8, np.int16, np.int32, np.int64
u8, u16, u32, u64 = np.uint8, np.uint16, np.uint32, np.uint64
f16, f32, f64 = np.float16, np.float32, np.float64
bf16 = ml_dtypes.bfloat16
f8e4m3fn, f8e5m2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
f8e4m3fnuz, f8e5m2fnuz = ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz
f8e4m3b11fnuz = ml_dtypes.float8_e4m3b11fnuz
