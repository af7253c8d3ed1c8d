// Defines the GSS-API functions that a linked libcurl (STATIC=1) calls for `Negotiate`. Each has the name and prototype of
// RFC 2744 and calls the system's Kerberos library, which is loaded at the first call (late.h).
#ifdef TRANSFER_RUN_IS_STATIC
#include <gssapi/gssapi.h>
#include <late.h>

#define FUNCTIONS(X) \
    X(OM_uint32, gss_import_name, (OM_uint32 *minor, gss_buffer_t text, gss_OID type, gss_name_t *name), \
      (minor, text, type, name)) \
    X(OM_uint32, gss_display_name, (OM_uint32 *minor, gss_name_t name, gss_buffer_t text, gss_OID *type), \
      (minor, name, text, type)) \
    X(OM_uint32, gss_release_name, (OM_uint32 *minor, gss_name_t *name), (minor, name)) \
    X(OM_uint32, gss_release_buffer, (OM_uint32 *minor, gss_buffer_t buffer), (minor, buffer)) \
    X(OM_uint32, gss_init_sec_context, \
      (OM_uint32 *minor, gss_cred_id_t credential, gss_ctx_id_t *context, gss_name_t target, gss_OID mechanism, \
       OM_uint32 flags, OM_uint32 time, gss_channel_bindings_t bindings, gss_buffer_t input, gss_OID *used, \
       gss_buffer_t output, OM_uint32 *granted, OM_uint32 *remaining), \
      (minor, credential, context, target, mechanism, flags, time, bindings, input, used, output, granted, remaining)) \
    X(OM_uint32, gss_inquire_context, \
      (OM_uint32 *minor, gss_ctx_id_t context, gss_name_t *source, gss_name_t *target, OM_uint32 *remaining, \
       gss_OID *mechanism, OM_uint32 *flags, int *is_local, int *is_open), \
      (minor, context, source, target, remaining, mechanism, flags, is_local, is_open)) \
    X(OM_uint32, gss_delete_sec_context, (OM_uint32 *minor, gss_ctx_id_t *context, gss_buffer_t token), \
      (minor, context, token)) \
    X(OM_uint32, gss_display_status, \
      (OM_uint32 *minor, OM_uint32 status, int kind, gss_OID mechanism, OM_uint32 *more, gss_buffer_t text), \
      (minor, status, kind, mechanism, more, text)) \
    X(OM_uint32, gss_wrap, \
      (OM_uint32 *minor, gss_ctx_id_t context, int is_sealed, gss_qop_t quality, gss_buffer_t input, int *was_sealed, \
       gss_buffer_t output), \
      (minor, context, is_sealed, quality, input, was_sealed, output)) \
    X(OM_uint32, gss_unwrap, \
      (OM_uint32 *minor, gss_ctx_id_t context, gss_buffer_t input, gss_buffer_t output, int *was_sealed, \
       gss_qop_t *quality), \
      (minor, context, input, output, was_sealed, quality))

#define LATE_LIBRARY "libgssapi_krb5.so.2"
FUNCTIONS(LATE_CALL)
LATE_LACK(tr_gssapi_lack)

// The name type of `HTTP@host`, 1.2.840.113554.1.2.1.4. Libraries compare such types by their bytes.
static gss_OID_desc host_based_service = {10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04"};
gss_OID GSS_C_NT_HOSTBASED_SERVICE = &host_based_service;
#else
typedef int nothing_here;
#endif
