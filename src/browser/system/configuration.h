/*
 * The configuration of the server that is installed here, but for a machine of 32 bits with
 * another C library.
 */

#undef ALIGNOF_LONG
#undef SIZEOF_LONG
#undef SIZEOF_SIZE_T
#undef SIZEOF_VOID_P
#define ALIGNOF_LONG 4
#define SIZEOF_LONG 4
#define SIZEOF_SIZE_T 4
#define SIZEOF_VOID_P 4

#undef HAVE_LONG_INT_64
#undef INT64_MODIFIER
#undef PG_INT64_TYPE
#define HAVE_LONG_LONG_INT_64 1
#define INT64_MODIFIER "ll"
#define PG_INT64_TYPE long long int

#undef USE_FLOAT8_BYVAL
#undef PG_INT128_TYPE
#undef ENABLE_NLS
#undef HAVE_STRERROR_R
#undef HAVE_STRLCPY
#undef HAVE_DECL_STRLCPY
#define HAVE_DECL_STRLCPY 0

/* An error that there is not. */
#define EHOSTDOWN 1000
