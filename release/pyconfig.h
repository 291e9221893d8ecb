/* What Python.h needs to know about the platforms of the wheels, all of which have 64 bits. The limited API that our C code uses
   depends on nothing else. CPython's own pyconfig.h describes only the machine that it was built on. */

#define ALIGNOF_SIZE_T 8
#define SIZEOF_DOUBLE 8
#define SIZEOF_FLOAT 4
#define SIZEOF_INT 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SHORT 2
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF__BOOL 1
#define HAVE_STDARG_PROTOTYPES 1
#define WITH_DOC_STRINGS 1

#ifdef _WIN32
#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
/* Functions and data of Python come from python3.dll. */
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED
#define SIZEOF_LONG 4
#define SIZEOF_WCHAR_T 2
#else
#define SIZEOF_LONG 8
#define SIZEOF_WCHAR_T 4
#define HAVE_SSIZE_T 1
#define HAVE_UNISTD_H 1
#define SIZEOF_PID_T 4
#endif
