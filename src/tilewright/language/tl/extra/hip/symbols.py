"""Functions of AMD's ocml and ockl libraries, by the name a kernel calls them.

A row gives, for each list of argument types, the type of the result and the symbol:

    name  argument,argument>result:symbol ...

``name as type`` converts the result once more. `tables` reads the rows.
"""

SYMBOLS = """
abs i32>i32:__triton_hip_iabs i64>i64:__triton_hip_iabs f32>f32:__triton_hip_fabs
    f64>f64:__triton_hip_fabs
acos f32>f32:__ocml_acos_f32 f64>f64:__ocml_acos_f64
acosh f32>f32:__ocml_acosh_f32 f64>f64:__ocml_acosh_f64
asin f32>f32:__ocml_asin_f32 f64>f64:__ocml_asin_f64
asinh f32>f32:__ocml_asinh_f32 f64>f64:__ocml_asinh_f64
atan f32>f32:__ocml_atan_f32 f64>f64:__ocml_atan_f64
atan2 f32,f32>f32:__ocml_atan2_f32 f64,f64>f64:__ocml_atan2_f64
atanh f32>f32:__ocml_atanh_f32 f64>f64:__ocml_atanh_f64
ceil f32>f32:__ocml_ceil_f32 f64>f64:__ocml_ceil_f64
clz as i32 i32>i32:__ockl_clz_u32 i64>i64:__ockl_clz_u64
copysign f32,f32>f32:__ocml_copysign_f32 f64,f64>f64:__ocml_copysign_f64
cos f32>f32:__ocml_cos_f32 f64>f64:__ocml_cos_f64
cosh f32>f32:__ocml_cosh_f32 f64>f64:__ocml_cosh_f64
cyl_bessel_i0 f32>f32:__ocml_i0_f32 f64>f64:__ocml_i0_f64
cyl_bessel_i1 f32>f32:__ocml_i1_f32 f64>f64:__ocml_i1_f64
erf f32>f32:__ocml_erf_f32 f64>f64:__ocml_erf_f64
erfc f32>f32:__ocml_erfc_f32 f64>f64:__ocml_erfc_f64
erfcx f32>f32:__ocml_erfcx_f32 f64>f64:__ocml_erfcx_f64
erfinv f32>f32:__ocml_erfinv_f32 f64>f64:__ocml_erfinv_f64
exp f32>f32:__ocml_exp_f32 f64>f64:__ocml_exp_f64
exp2 f32>f32:__ocml_exp2_f32 f64>f64:__ocml_exp2_f64
expm1 f32>f32:__ocml_expm1_f32 f64>f64:__ocml_expm1_f64
fast_dividef f32,f32>f32:__triton_hip_fast_fdividef
fast_expf f32>f32:__triton_hip_fast_expf
fast_tanhf f32>f32:__triton_hip_fast_tanhf
finitef as i1 f32>i32:__ocml_isfinite_f32
floor f32>f32:__ocml_floor_f32 f64>f64:__ocml_floor_f64
fma f32,f32,f32>f32:__ocml_fma_f32 f64,f64,f64>f64:__ocml_fma_f64
fmod f32,f32>f32:__ocml_fmod_f32 f64,f64>f64:__ocml_fmod_f64
hypot f32,f32>f32:__ocml_hypot_f32 f64,f64>f64:__ocml_hypot_f64
ilogb f32>i32:__ocml_ilogb_f32 f64>i32:__ocml_ilogb_f64
isfinited as i1 f64>i32:__ocml_isfinite_f64
isinf as i1 f32>i32:__ocml_isinf_f32 f64>i32:__ocml_isinf_f64
isnan as i1 f32>i32:__ocml_isnan_f32 f64>i32:__ocml_isnan_f64
j0 f32>f32:__ocml_j0_f32 f64>f64:__ocml_j0_f64
j1 f32>f32:__ocml_j1_f32 f64>f64:__ocml_j1_f64
ldexp f32,i32>f32:__ocml_ldexp_f32 f64,i32>f64:__ocml_ldexp_f64
lgamma f32>f32:__ocml_lgamma_f32 f64>f64:__ocml_lgamma_f64
llrint f32>i64:__triton_hip_llrint f64>i64:__triton_hip_llrint
log f32>f32:__ocml_log_f32 f64>f64:__ocml_log_f64
log10 f32>f32:__ocml_log10_f32 f64>f64:__ocml_log10_f64
log1p f32>f32:__ocml_log1p_f32 f64>f64:__ocml_log1p_f64
log2 f32>f32:__ocml_log2_f32 f64>f64:__ocml_log2_f64
nearbyint f32>f32:__ocml_nearbyint_f32 f64>f64:__ocml_nearbyint_f64
nextafter f32,f32>f32:__ocml_nextafter_f32 f64,f64>f64:__ocml_nextafter_f64
popc i32>i32:__ockl_popcount_u32 i64>i32:__ockl_popcount_u64
pow f32,i32>f32:__ocml_pown_f32 f64,i32>f64:__ocml_pown_f64 f32,f32>f32:__ocml_pow_f32
    f64,f64>f64:__ocml_pow_f64
rint f32>f32:__triton_hip_rint f64>f64:__triton_hip_rint
round f32>f32:__ocml_round_f32 f64>f64:__ocml_round_f64
rsqrt f32>f32:__ocml_rsqrt_f32 f64>f64:__ocml_rsqrt_f64
signbit f32>i32:__ocml_signbit_f32 f64>i32:__ocml_signbit_f64
sin f32>f32:__ocml_sin_f32 f64>f64:__ocml_sin_f64
sinh f32>f32:__ocml_sinh_f32 f64>f64:__ocml_sinh_f64
sqrt f32>f32:__ocml_sqrt_f32 f64>f64:__ocml_sqrt_f64
tan f32>f32:__ocml_tan_f32 f64>f64:__ocml_tan_f64
tanh f32>f32:__ocml_tanh_f32 f64>f64:__ocml_tanh_f64
trunc f32>f32:__ocml_trunc_f32 f64>f64:__ocml_trunc_f64
y0 f32>f32:__ocml_y0_f32 f64>f64:__ocml_y0_f64
y1 f32>f32:__ocml_y1_f32 f64>f64:__ocml_y1_f64
"""
