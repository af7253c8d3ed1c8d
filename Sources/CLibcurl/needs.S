// What libcurl calls of other libraries, each of which is loaded when something of it is first called: a run over plain HTTP
// needs none of them, and loading all takes longer than reading a small job (docs/performance.md). A function stands here
// under its own name and goes on to where its library has it, with the arguments as they came. What libcurl calls and
// stands not here does not link: `nm -u libcurl.a` tells its name.

#if defined(__x86_64__)
// r11 is nobody's between a call and the first line of what was called.
.macro LATE name
    .text
    .globl \name
    .hidden \name
    .type \name, @function
    .balign 16
\name:
    mov known_\name(%rip), %r11
    test %r11, %r11
    jz 1f
    jmp *%r11
1:  lea needed_\name(%rip), %r11
    jmp find
    .size \name, . - \name
    NEED \name
.endm

find:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    push %rax
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    sub $136, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    mov %r11, %rdi
    call tr_curl_need
    mov %rax, %r11
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    add $136, %rsp
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %rax
    pop %rbp
    .cfi_def_cfa %rsp, 8
    jmp *%r11
    .cfi_endproc

#elif defined(__aarch64__)
// x16 and x17 are nobody's between a call and the first line of what was called.
.macro LATE name
    .text
    .globl \name
    .hidden \name
    .type \name, %function
    .balign 16
\name:
    adrp x16, known_\name
    ldr x16, [x16, :lo12:known_\name]
    cbz x16, 1f
    br x16
1:  adrp x17, needed_\name
    add x17, x17, :lo12:needed_\name
    b find
    .size \name, . - \name
    NEED \name
.endm

find:
    .cfi_startproc
    stp x29, x30, [sp, #-208]!
    .cfi_def_cfa_offset 208
    .cfi_offset x29, -208
    .cfi_offset x30, -200
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #80 + 16]
    stp q2, q3, [sp, #80 + 48]
    str q4, [sp, #80 + 80]
    str q5, [sp, #80 + 96]
    mov x0, x17
    bl tr_curl_need
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #80 + 16]
    ldp q2, q3, [sp, #80 + 48]
    ldr q4, [sp, #80 + 80]
    ldr q5, [sp, #80 + 96]
    ldp x29, x30, [sp], #208
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
#endif

// Three places, told by how far they are from here, so that nothing must be put right at the start: where the address is
// kept, the library's name, the function's.
.macro NEED name
    .local known_\name
    .comm known_\name, 8, 8
    .section .rodata
    .balign 4
needed_\name:
    .long known_\name - .
    .long library - .
    .asciz "\name"
.endm

.macro LIBRARY name
    .section .rodata
    .set library, .
    .asciz "\name"
.endm

LIBRARY libssl.so.3
LATE SSL_CIPHER_get_name
LATE SSL_CTX_add_client_CA
LATE SSL_CTX_check_private_key
LATE SSL_CTX_ctrl
LATE SSL_CTX_free
LATE SSL_CTX_get_cert_store
LATE SSL_CTX_new
LATE SSL_CTX_sess_set_new_cb
LATE SSL_CTX_set_alpn_protos
LATE SSL_CTX_set_cert_store
LATE SSL_CTX_set_cipher_list
LATE SSL_CTX_set_ciphersuites
LATE SSL_CTX_set_default_passwd_cb
LATE SSL_CTX_set_default_passwd_cb_userdata
LATE SSL_CTX_set_keylog_callback
LATE SSL_CTX_set_msg_callback
LATE SSL_CTX_set_options
LATE SSL_CTX_set_post_handshake_auth
LATE SSL_CTX_set_srp_password
LATE SSL_CTX_set_srp_username
LATE SSL_CTX_set_verify
LATE SSL_CTX_use_PrivateKey
LATE SSL_CTX_use_PrivateKey_file
LATE SSL_CTX_use_certificate
LATE SSL_CTX_use_certificate_chain_file
LATE SSL_CTX_use_certificate_file
LATE SSL_SESSION_free
LATE SSL_alert_desc_string_long
LATE SSL_connect
LATE SSL_ctrl
LATE SSL_free
LATE SSL_get0_alpn_selected
LATE SSL_get1_peer_certificate
LATE SSL_get_certificate
LATE SSL_get_current_cipher
LATE SSL_get_error
LATE SSL_get_ex_data
LATE SSL_get_peer_cert_chain
LATE SSL_get_privatekey
LATE SSL_get_shutdown
LATE SSL_get_verify_result
LATE SSL_get_version
LATE SSL_new
LATE SSL_pending
LATE SSL_read
LATE SSL_set0_rbio
LATE SSL_set0_wbio
LATE SSL_set_connect_state
LATE SSL_set_ex_data
LATE SSL_set_session
LATE SSL_shutdown
LATE SSL_write
LATE TLS_client_method

LIBRARY libcrypto.so.3
LATE ASN1_STRING_get0_data
LATE ASN1_STRING_length
LATE ASN1_STRING_print
LATE ASN1_STRING_to_UTF8
LATE ASN1_STRING_type
LATE ASN1_TIME_print
LATE BIO_clear_flags
LATE BIO_ctrl
LATE BIO_free
LATE BIO_get_data
LATE BIO_get_shutdown
LATE BIO_meth_free
LATE BIO_meth_new
LATE BIO_meth_set_create
LATE BIO_meth_set_ctrl
LATE BIO_meth_set_destroy
LATE BIO_meth_set_read
LATE BIO_meth_set_write
LATE BIO_new
LATE BIO_new_mem_buf
LATE BIO_printf
LATE BIO_puts
LATE BIO_s_file
LATE BIO_s_mem
LATE BIO_set_data
LATE BIO_set_flags
LATE BIO_set_init
LATE BIO_set_shutdown
LATE BIO_up_ref
LATE BN_clear_free
LATE BN_num_bits
LATE BN_print
LATE CRYPTO_free
LATE CRYPTO_malloc
LATE DES_ecb_encrypt
LATE DES_set_key_unchecked
LATE DES_set_odd_parity
LATE ENGINE_by_id
LATE ENGINE_ctrl
LATE ENGINE_ctrl_cmd
LATE ENGINE_finish
LATE ENGINE_free
LATE ENGINE_get_first
LATE ENGINE_get_id
LATE ENGINE_get_next
LATE ENGINE_init
LATE ENGINE_load_private_key
LATE ENGINE_set_default
LATE ERR_clear_error
LATE ERR_error_string_n
LATE ERR_get_error
LATE ERR_peek_error
LATE ERR_peek_last_error
LATE EVP_DigestFinal_ex
LATE EVP_DigestInit
LATE EVP_DigestInit_ex
LATE EVP_DigestUpdate
LATE EVP_MD_CTX_free
LATE EVP_MD_CTX_new
LATE EVP_PKEY_copy_parameters
LATE EVP_PKEY_free
LATE EVP_PKEY_get1_RSA
LATE EVP_PKEY_get_bn_param
LATE EVP_PKEY_get_id
LATE EVP_sha1
LATE EVP_sha256
LATE GENERAL_NAMES_free
LATE MD5_Final
LATE MD5_Init
LATE MD5_Update
LATE OCSP_BASICRESP_free
LATE OCSP_CERTID_free
LATE OCSP_RESPONSE_free
LATE OCSP_basic_verify
LATE OCSP_cert_status_str
LATE OCSP_cert_to_id
LATE OCSP_check_validity
LATE OCSP_crl_reason_str
LATE OCSP_resp_find_status
LATE OCSP_response_get1_basic
LATE OCSP_response_status
LATE OCSP_response_status_str
LATE OPENSSL_sk_num
LATE OPENSSL_sk_pop
LATE OPENSSL_sk_pop_free
LATE OPENSSL_sk_value
LATE OpenSSL_version
LATE PEM_X509_INFO_read_bio
LATE PEM_read_bio_PrivateKey
LATE PEM_read_bio_X509
LATE PEM_read_bio_X509_AUX
LATE PEM_write_bio_X509
LATE PKCS12_PBE_add
LATE PKCS12_free
LATE PKCS12_parse
LATE RAND_bytes
LATE RAND_status
LATE RSA_flags
LATE RSA_free
LATE UI_OpenSSL
LATE UI_create_method
LATE UI_destroy_method
LATE UI_get0_user_data
LATE UI_get_input_flags
LATE UI_get_string_type
LATE UI_method_get_closer
LATE UI_method_get_opener
LATE UI_method_get_reader
LATE UI_method_get_writer
LATE UI_method_set_closer
LATE UI_method_set_opener
LATE UI_method_set_reader
LATE UI_method_set_writer
LATE UI_set_result
LATE X509V3_EXT_print
LATE X509_EXTENSION_get_data
LATE X509_EXTENSION_get_object
LATE X509_INFO_free
LATE X509_LOOKUP_file
LATE X509_NAME_ENTRY_get_data
LATE X509_NAME_get_entry
LATE X509_NAME_get_index_by_NID
LATE X509_NAME_print_ex
LATE X509_PUBKEY_get0_param
LATE X509_STORE_add_cert
LATE X509_STORE_add_crl
LATE X509_STORE_add_lookup
LATE X509_STORE_free
LATE X509_STORE_load_file
LATE X509_STORE_load_path
LATE X509_STORE_set_flags
LATE X509_STORE_up_ref
LATE X509_check_issued
LATE X509_free
LATE X509_get0_extensions
LATE X509_get0_notAfter
LATE X509_get0_notBefore
LATE X509_get0_signature
LATE X509_get_X509_PUBKEY
LATE X509_get_ext_d2i
LATE X509_get_issuer_name
LATE X509_get_pubkey
LATE X509_get_serialNumber
LATE X509_get_subject_name
LATE X509_get_version
LATE X509_load_crl_file
LATE X509_verify_cert_error_string
LATE d2i_OCSP_RESPONSE
LATE d2i_PKCS12_bio
LATE d2i_PrivateKey_bio
LATE d2i_X509_bio
LATE i2a_ASN1_OBJECT
LATE i2d_X509_PUBKEY
LATE i2t_ASN1_OBJECT

LIBRARY libnghttp2.so.14
LATE nghttp2_http2_strerror
LATE nghttp2_is_fatal
LATE nghttp2_option_del
LATE nghttp2_option_new
LATE nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation
LATE nghttp2_pack_settings_payload
LATE nghttp2_priority_spec_init
LATE nghttp2_session_callbacks_del
LATE nghttp2_session_callbacks_new
LATE nghttp2_session_callbacks_set_error_callback
LATE nghttp2_session_callbacks_set_on_begin_headers_callback
LATE nghttp2_session_callbacks_set_on_data_chunk_recv_callback
LATE nghttp2_session_callbacks_set_on_frame_recv_callback
LATE nghttp2_session_callbacks_set_on_header_callback
LATE nghttp2_session_callbacks_set_on_stream_close_callback
LATE nghttp2_session_callbacks_set_send_callback
LATE nghttp2_session_check_request_allowed
LATE nghttp2_session_client_new2
LATE nghttp2_session_del
LATE nghttp2_session_get_remote_settings
LATE nghttp2_session_get_remote_window_size
LATE nghttp2_session_get_stream_remote_window_size
LATE nghttp2_session_get_stream_user_data
LATE nghttp2_session_mem_recv
LATE nghttp2_session_resume_data
LATE nghttp2_session_send
LATE nghttp2_session_set_local_window_size
LATE nghttp2_session_set_stream_user_data
LATE nghttp2_session_upgrade2
LATE nghttp2_session_want_read
LATE nghttp2_session_want_write
LATE nghttp2_strerror
LATE nghttp2_submit_ping
LATE nghttp2_submit_priority
LATE nghttp2_submit_request
LATE nghttp2_submit_rst_stream
LATE nghttp2_submit_settings
LATE nghttp2_version

LIBRARY libbrotlidec.so.1
LATE BrotliDecoderCreateInstance
LATE BrotliDecoderDecompressStream
LATE BrotliDecoderDestroyInstance
LATE BrotliDecoderGetErrorCode
LATE BrotliDecoderVersion

LIBRARY libzstd.so.1
LATE ZSTD_createDStream
LATE ZSTD_decompressStream
LATE ZSTD_freeDStream
LATE ZSTD_isError
LATE ZSTD_versionNumber

LIBRARY libidn2.so.0
LATE idn2_check_version
LATE idn2_free
LATE idn2_lookup_ul

LIBRARY libpsl.so.5
LATE psl_builtin
LATE psl_free
LATE psl_get_version
LATE psl_is_cookie_domain_acceptable
LATE psl_latest

LIBRARY libgssapi_krb5.so.2
LATE gss_delete_sec_context
LATE gss_display_name
LATE gss_display_status
LATE gss_import_name
LATE gss_init_sec_context
LATE gss_inquire_context
LATE gss_release_buffer
LATE gss_release_name
LATE gss_unwrap
LATE gss_wrap

LIBRARY libssh2.so.1
LATE libssh2_agent_connect
LATE libssh2_agent_disconnect
LATE libssh2_agent_free
LATE libssh2_agent_get_identity
LATE libssh2_agent_init
LATE libssh2_agent_list_identities
LATE libssh2_agent_userauth
LATE libssh2_channel_free
LATE libssh2_channel_read_ex
LATE libssh2_channel_send_eof
LATE libssh2_channel_wait_closed
LATE libssh2_channel_wait_eof
LATE libssh2_channel_write_ex
LATE libssh2_exit
LATE libssh2_hostkey_hash
LATE libssh2_knownhost_add
LATE libssh2_knownhost_checkp
LATE libssh2_knownhost_del
LATE libssh2_knownhost_free
LATE libssh2_knownhost_get
LATE libssh2_knownhost_init
LATE libssh2_knownhost_readfile
LATE libssh2_knownhost_writefile
LATE libssh2_scp_recv2
LATE libssh2_scp_send64
LATE libssh2_session_abstract
LATE libssh2_session_block_directions
LATE libssh2_session_callback_set
LATE libssh2_session_disconnect_ex
LATE libssh2_session_flag
LATE libssh2_session_free
LATE libssh2_session_handshake
LATE libssh2_session_hostkey
LATE libssh2_session_init_ex
LATE libssh2_session_last_errno
LATE libssh2_session_last_error
LATE libssh2_session_method_pref
LATE libssh2_session_set_blocking
LATE libssh2_sftp_close_handle
LATE libssh2_sftp_init
LATE libssh2_sftp_last_error
LATE libssh2_sftp_mkdir_ex
LATE libssh2_sftp_open_ex
LATE libssh2_sftp_read
LATE libssh2_sftp_readdir_ex
LATE libssh2_sftp_rename_ex
LATE libssh2_sftp_rmdir_ex
LATE libssh2_sftp_seek64
LATE libssh2_sftp_shutdown
LATE libssh2_sftp_stat_ex
LATE libssh2_sftp_statvfs
LATE libssh2_sftp_symlink_ex
LATE libssh2_sftp_unlink_ex
LATE libssh2_sftp_write
LATE libssh2_userauth_authenticated
LATE libssh2_userauth_keyboard_interactive_ex
LATE libssh2_userauth_list
LATE libssh2_userauth_password_ex
LATE libssh2_userauth_publickey_fromfile_ex
LATE libssh2_version

LIBRARY librtmp.so.1
LATE RTMP_Alloc
LATE RTMP_Close
LATE RTMP_Connect1
LATE RTMP_ConnectStream
LATE RTMP_Free
LATE RTMP_Init
LATE RTMP_Read
LATE RTMP_SetBufferMS
LATE RTMP_SetupURL
LATE RTMP_Write

LIBRARY libldap-2.5.so.0
LATE ldap_abandon_ext
LATE ldap_err2string
LATE ldap_free_urldesc
LATE ldap_get_attribute_ber
LATE ldap_get_dn_ber
LATE ldap_get_option
LATE ldap_init_fd
LATE ldap_memfree
LATE ldap_msgfree
LATE ldap_msgtype
LATE ldap_parse_result
LATE ldap_parse_sasl_bind_result
LATE ldap_pvt_url_scheme2proto
LATE ldap_result
LATE ldap_sasl_bind
LATE ldap_search_ext
LATE ldap_set_option
LATE ldap_start_tls
LATE ldap_unbind_ext
LATE ldap_url_parse

LIBRARY liblber-2.5.so.0
LATE ber_bvfree
LATE ber_free
LATE ber_memfree
LATE ber_memvfree
LATE ber_sockbuf_add_io
.section .note.GNU-stack, "", %progbits
