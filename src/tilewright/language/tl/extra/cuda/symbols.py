"""Functions of NVIDIA's libdevice, by the name a kernel calls them.

A row gives, for each list of argument types, the type of the result and the symbol:

    name  argument,argument>result:symbol ...

``name as type`` converts the result once more. `tables` reads the rows.
"""

SYMBOLS = """
abs i32>i32:__nv_abs i64>i64:__nv_llabs f32>f32:__nv_fabsf f64>f64:__nv_fabs
acos f32>f32:__nv_acosf f64>f64:__nv_acos
acosh f32>f32:__nv_acoshf f64>f64:__nv_acosh
add_rd f64,f64>f64:__nv_dadd_rd f32,f32>f32:__nv_fadd_rd
add_rn f64,f64>f64:__nv_dadd_rn f32,f32>f32:__nv_fadd_rn
add_ru f64,f64>f64:__nv_dadd_ru f32,f32>f32:__nv_fadd_ru
add_rz f64,f64>f64:__nv_dadd_rz f32,f32>f32:__nv_fadd_rz
asin f32>f32:__nv_asinf f64>f64:__nv_asin
asinh f32>f32:__nv_asinhf f64>f64:__nv_asinh
atan f32>f32:__nv_atanf f64>f64:__nv_atan
atan2 f32,f32>f32:__nv_atan2f f64,f64>f64:__nv_atan2
atanh f32>f32:__nv_atanhf f64>f64:__nv_atanh
brev i32>i32:__nv_brev i64>i64:__nv_brevll
byte_perm i32,i32,i32>i32:__nv_byte_perm
cbrt f32>f32:__nv_cbrtf f64>f64:__nv_cbrt
ceil f64>f64:__nv_ceil f32>f32:__nv_ceilf
clz i32>i32:__nv_clz i64>i32:__nv_clzll
copysign f32,f32>f32:__nv_copysignf f64,f64>f64:__nv_copysign
cos f32>f32:__nv_cosf f64>f64:__nv_cos
cosh f32>f32:__nv_coshf f64>f64:__nv_cosh
cospi f32>f32:__nv_cospif f64>f64:__nv_cospi
cyl_bessel_i0 f32>f32:__nv_cyl_bessel_i0f f64>f64:__nv_cyl_bessel_i0
cyl_bessel_i1 f32>f32:__nv_cyl_bessel_i1f f64>f64:__nv_cyl_bessel_i1
div_rd f32,f32>f32:__nv_fdiv_rd f64,f64>f64:__nv_ddiv_rd
div_rn f32,f32>f32:__nv_fdiv_rn f64,f64>f64:__nv_ddiv_rn
div_ru f32,f32>f32:__nv_fdiv_ru f64,f64>f64:__nv_ddiv_ru
div_rz f32,f32>f32:__nv_fdiv_rz f64,f64>f64:__nv_ddiv_rz
double2float_rd f64>f32:__nv_double2float_rd
double2float_rn f64>f32:__nv_double2float_rn
double2float_ru f64>f32:__nv_double2float_ru
double2float_rz f64>f32:__nv_double2float_rz
double2hiint f64>i32:__nv_double2hiint
double2int_rd f64>i32:__nv_double2int_rd
double2int_rn f64>i32:__nv_double2int_rn
double2int_ru f64>i32:__nv_double2int_ru
double2int_rz f64>i32:__nv_double2int_rz
double2ll_rd f64>i64:__nv_double2ll_rd
double2ll_rn f64>i64:__nv_double2ll_rn
double2ll_ru f64>i64:__nv_double2ll_ru
double2ll_rz f64>i64:__nv_double2ll_rz
double2loint f64>i32:__nv_double2loint
double2uint_rd f64>i32:__nv_double2uint_rd
double2uint_rn f64>i32:__nv_double2uint_rn
double2uint_ru f64>i32:__nv_double2uint_ru
double2uint_rz f64>i32:__nv_double2uint_rz
double2ull_rd f64>i64:__nv_double2ull_rd
double2ull_rn f64>i64:__nv_double2ull_rn
double2ull_ru f64>i64:__nv_double2ull_ru
double2ull_rz f64>i64:__nv_double2ull_rz
double_as_longlong f64>i64:__nv_double_as_longlong
erf f32>f32:__nv_erff f64>f64:__nv_erf
erfc f32>f32:__nv_erfcf f64>f64:__nv_erfc
erfcinv f32>f32:__nv_erfcinvf f64>f64:__nv_erfcinv
erfcx f32>f32:__nv_erfcxf f64>f64:__nv_erfcx
erfinv f32>f32:__nv_erfinvf f64>f64:__nv_erfinv
exp f32>f32:__nv_expf f64>f64:__nv_exp
exp10 f32>f32:__nv_exp10f f64>f64:__nv_exp10
exp2 f32>f32:__nv_exp2f f64>f64:__nv_exp2
expm1 f32>f32:__nv_expm1f f64>f64:__nv_expm1
fast_cosf f32>f32:__nv_fast_cosf
fast_dividef f32,f32>f32:__nv_fast_fdividef
fast_exp10f f32>f32:__nv_fast_exp10f
fast_expf f32>f32:__nv_fast_expf
fast_log10f f32>f32:__nv_fast_log10f
fast_log2f f32>f32:__nv_fast_log2f
fast_logf f32>f32:__nv_fast_logf
fast_powf f32,f32>f32:__nv_fast_powf
fast_sinf f32>f32:__nv_fast_sinf
fast_tanf f32>f32:__nv_fast_tanf
fdim f32,f32>f32:__nv_fdimf f64,f64>f64:__nv_fdim
ffs i32>i32:__nv_ffs i64>i32:__nv_ffsll
finitef as i1 f32>i32:__nv_finitef
float2int_rd f32>i32:__nv_float2int_rd
float2int_rn f32>i32:__nv_float2int_rn
float2int_ru f32>i32:__nv_float2int_ru
float2int_rz f32>i32:__nv_float2int_rz
float2ll_rd f32>i64:__nv_float2ll_rd
float2ll_rn f32>i64:__nv_float2ll_rn
float2ll_ru f32>i64:__nv_float2ll_ru
float2ll_rz f32>i64:__nv_float2ll_rz
float2uint_rd f32>i32:__nv_float2uint_rd
float2uint_rn f32>i32:__nv_float2uint_rn
float2uint_ru f32>i32:__nv_float2uint_ru
float2uint_rz f32>i32:__nv_float2uint_rz
float2ull_rd f32>i64:__nv_float2ull_rd
float2ull_rn f32>i64:__nv_float2ull_rn
float2ull_ru f32>i64:__nv_float2ull_ru
float2ull_rz f32>i64:__nv_float2ull_rz
float_as_int f32>i32:__nv_float_as_int
float_as_uint f32>i32:__nv_float_as_uint
floor f32>f32:__nv_floorf f64>f64:__nv_floor
fma f32,f32,f32>f32:__nv_fmaf f64,f64,f64>f64:__nv_fma
fma_rd f32,f32,f32>f32:__nv_fmaf_rd f64,f64,f64>f64:__nv_fma_rd
fma_rn f32,f32,f32>f32:__nv_fmaf_rn f64,f64,f64>f64:__nv_fma_rn
fma_ru f32,f32,f32>f32:__nv_fmaf_ru f64,f64,f64>f64:__nv_fma_ru
fma_rz f32,f32,f32>f32:__nv_fmaf_rz f64,f64,f64>f64:__nv_fma_rz
fmod f32,f32>f32:__nv_fmodf f64,f64>f64:__nv_fmod
hadd i32,i32>i32:__nv_hadd u32,u32>u32:__nv_uhadd
hiloint2double i32,i32>f64:__nv_hiloint2double
hypot f32,f32>f32:__nv_hypotf f64,f64>f64:__nv_hypot
ilogb f32>i32:__nv_ilogbf f64>i32:__nv_ilogb
int2double_rn i32>f64:__nv_int2double_rn
int2float_rd i32>f32:__nv_int2float_rd
int2float_rn i32>f32:__nv_int2float_rn
int2float_ru i32>f32:__nv_int2float_ru
int2float_rz i32>f32:__nv_int2float_rz
int_as_float i32>f32:__nv_int_as_float
isfinited as i1 f64>i32:__nv_isfinited
isinf as i1 f32>i32:__nv_isinff f64>i32:__nv_isinfd
isnan as i1 f32>i32:__nv_isnanf f64>i32:__nv_isnand
j0 f32>f32:__nv_j0f f64>f64:__nv_j0
j1 f32>f32:__nv_j1f f64>f64:__nv_j1
jn i32,f32>f32:__nv_jnf i32,f64>f64:__nv_jn
ldexp f32,i32>f32:__nv_ldexpf f64,i32>f64:__nv_ldexp
lgamma f32>f32:__nv_lgammaf f64>f64:__nv_lgamma
ll2double_rd i64>f64:__nv_ll2double_rd
ll2double_rn i64>f64:__nv_ll2double_rn
ll2double_ru i64>f64:__nv_ll2double_ru
ll2double_rz i64>f64:__nv_ll2double_rz
ll2float_rd i64>f32:__nv_ll2float_rd
ll2float_rn i64>f32:__nv_ll2float_rn
ll2float_ru i64>f32:__nv_ll2float_ru
ll2float_rz i64>f32:__nv_ll2float_rz
llrint f32>i64:__nv_llrintf f64>i64:__nv_llrint
llround f32>i64:__nv_llroundf f64>i64:__nv_llround
log f32>f32:__nv_logf f64>f64:__nv_log
log10 f32>f32:__nv_log10f f64>f64:__nv_log10
log1p f32>f32:__nv_log1pf f64>f64:__nv_log1p
log2 f32>f32:__nv_log2f f64>f64:__nv_log2
logb f32>f32:__nv_logbf f64>f64:__nv_logb
longlong_as_double i64>f64:__nv_longlong_as_double
mul24 i32,i32>i32:__nv_mul24 u32,u32>u32:__nv_umul24
mul_rd f64,f64>f64:__nv_dmul_rd f32,f32>f32:__nv_fmul_rd
mul_rn f64,f64>f64:__nv_dmul_rn f32,f32>f32:__nv_fmul_rn
mul_ru f64,f64>f64:__nv_dmul_ru f32,f32>f32:__nv_fmul_ru
mul_rz f64,f64>f64:__nv_dmul_rz f32,f32>f32:__nv_fmul_rz
mulhi i32,i32>i32:__nv_mulhi u32,u32>u32:__nv_umulhi i64,i64>i64:__nv_mul64hi
    u64,u64>u64:__nv_umul64hi
nearbyint f32>f32:__nv_nearbyintf f64>f64:__nv_nearbyint
nextafter f32,f32>f32:__nv_nextafterf f64,f64>f64:__nv_nextafter
norm3d f32,f32,f32>f32:__nv_norm3df f64,f64,f64>f64:__nv_norm3d
norm4d f32,f32,f32,f32>f32:__nv_norm4df f64,f64,f64,f64>f64:__nv_norm4d
normcdf f32>f32:__nv_normcdff f64>f64:__nv_normcdf
normcdfinv f32>f32:__nv_normcdfinvf f64>f64:__nv_normcdfinv
popc i32>i32:__nv_popc i64>i32:__nv_popcll
pow f32,i32>f32:__nv_powif f64,i32>f64:__nv_powi f32,f32>f32:__nv_powf f64,f64>f64:__nv_pow
rcbrt f32>f32:__nv_rcbrtf f64>f64:__nv_rcbrt
rcp64h f64>f64:__nv_rcp64h
rcp_rd f32>f32:__nv_frcp_rd f64>f64:__nv_drcp_rd
rcp_rn f32>f32:__nv_frcp_rn f64>f64:__nv_drcp_rn
rcp_ru f32>f32:__nv_frcp_ru f64>f64:__nv_drcp_ru
rcp_rz f32>f32:__nv_frcp_rz f64>f64:__nv_drcp_rz
remainder f32,f32>f32:__nv_remainderf f64,f64>f64:__nv_remainder
rhadd i32,i32>i32:__nv_rhadd u32,u32>u32:__nv_urhadd
rhypot f32,f32>f32:__nv_rhypotf f64,f64>f64:__nv_rhypot
rint f32>f32:__nv_rintf f64>f64:__nv_rint
rnorm3d f32,f32,f32>f32:__nv_rnorm3df f64,f64,f64>f64:__nv_rnorm3d
rnorm4d f32,f32,f32,f32>f32:__nv_rnorm4df f64,f64,f64,f64>f64:__nv_rnorm4d
round f32>f32:__nv_roundf f64>f64:__nv_round
rsqrt f32>f32:__nv_rsqrtf f64>f64:__nv_rsqrt
rsqrt_rn f32>f32:__nv_frsqrt_rn
sad i32,i32,u32>i32:__nv_sad u32,u32,u32>u32:__nv_usad
saturatef f32>f32:__nv_saturatef
scalbn f32,i32>f32:__nv_scalbnf f64,i32>f64:__nv_scalbn
signbit f32>i32:__nv_signbitf f64>i32:__nv_signbitd
sin f32>f32:__nv_sinf f64>f64:__nv_sin
sinh f32>f32:__nv_sinhf f64>f64:__nv_sinh
sinpi f32>f32:__nv_sinpif f64>f64:__nv_sinpi
sqrt f32>f32:__nv_sqrtf f64>f64:__nv_sqrt
sqrt_rd f32>f32:__nv_fsqrt_rd f64>f64:__nv_dsqrt_rd
sqrt_rn f32>f32:__nv_fsqrt_rn f64>f64:__nv_dsqrt_rn
sqrt_ru f32>f32:__nv_fsqrt_ru f64>f64:__nv_dsqrt_ru
sqrt_rz f32>f32:__nv_fsqrt_rz f64>f64:__nv_dsqrt_rz
sub_rd f32,f32>f32:__nv_fsub_rd f64,f64>f64:__nv_dsub_rd
sub_rn f32,f32>f32:__nv_fsub_rn f64,f64>f64:__nv_dsub_rn
sub_ru f32,f32>f32:__nv_fsub_ru f64,f64>f64:__nv_dsub_ru
sub_rz f32,f32>f32:__nv_fsub_rz f64,f64>f64:__nv_dsub_rz
tan f32>f32:__nv_tanf f64>f64:__nv_tan
tanh f32>f32:__nv_tanhf f64>f64:__nv_tanh
tgamma f32>f32:__nv_tgammaf f64>f64:__nv_tgamma
trunc f64>f64:__nv_trunc f32>f32:__nv_truncf
uint2double_rn u32>f64:__nv_uint2double_rn
uint2float_rd u32>f32:__nv_uint2float_rd
uint2float_rn u32>f32:__nv_uint2float_rn
uint2float_ru u32>f32:__nv_uint2float_ru
uint2float_rz u32>f32:__nv_uint2float_rz
uint_as_float u32>f32:__nv_uint_as_float
ull2double_rd u64>f64:__nv_ull2double_rd
ull2double_rn u64>f64:__nv_ull2double_rn
ull2double_ru u64>f64:__nv_ull2double_ru
ull2double_rz u64>f64:__nv_ull2double_rz
ull2float_rd u64>f32:__nv_ull2float_rd
ull2float_rn u64>f32:__nv_ull2float_rn
ull2float_ru u64>f32:__nv_ull2float_ru
ull2float_rz u64>f32:__nv_ull2float_rz
y0 f32>f32:__nv_y0f f64>f64:__nv_y0
y1 f32>f32:__nv_y1f f64>f64:__nv_y1
yn i32,f32>f32:__nv_ynf i32,f64>f64:__nv_yn
"""
