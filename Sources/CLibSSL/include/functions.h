// What is called of OpenSSL: late.h says how these are read.

#define LATE_STACK(X) \
    X(void, OPENSSL_sk_free, (OPENSSL_STACK *a), (a)) \
    X(OPENSSL_STACK *, OPENSSL_sk_new_null, (void), ()) \
    X(int, OPENSSL_sk_num, (const OPENSSL_STACK *a), (a)) \
    X(void *, OPENSSL_sk_pop, (OPENSSL_STACK *st), (st)) \
    X(int, OPENSSL_sk_push, (OPENSSL_STACK *st, const void *data), (st, data)) \
    X(void *, OPENSSL_sk_value, (const OPENSSL_STACK *a, int b), (a, b))

#define LATE_CRYPTO(X) \
    X(int, BIO_free, (BIO *a), (a)) \
    X(BIO *, BIO_new_mem_buf, (const void *buf, int len), (buf, len)) \
    X(void, CRYPTO_free, (void *ptr, const char *file, int line), (ptr, file, line)) \
    X(int, CRYPTO_get_ex_new_index, (int class_index, long argl, void *argp, CRYPTO_EX_new *new_func, \
      CRYPTO_EX_dup *dup_func, CRYPTO_EX_free *free_func), (class_index, argl, argp, new_func, dup_func, free_func)) \
    X(void, ERR_clear_error, (void), ()) \
    X(unsigned long, ERR_get_error, (void), ()) \
    X(int, EVP_CIPHER_CTX_ctrl, (EVP_CIPHER_CTX *ctx, int type, int arg, void *ptr), (ctx, type, arg, ptr)) \
    X(void, EVP_CIPHER_CTX_free, (EVP_CIPHER_CTX *c), (c)) \
    X(EVP_CIPHER_CTX *, EVP_CIPHER_CTX_new, (void), ()) \
    X(int, EVP_CipherFinal_ex, (EVP_CIPHER_CTX *ctx, unsigned char *outm, int *outl), (ctx, outm, outl)) \
    X(int, EVP_CipherInit_ex, (EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, ENGINE *impl, \
      const unsigned char *key, const unsigned char *iv, int enc), (ctx, cipher, impl, key, iv, enc)) \
    X(int, EVP_CipherUpdate, (EVP_CIPHER_CTX *ctx, unsigned char *out, int *outl, const unsigned char *in, int inl), \
      (ctx, out, outl, in, inl)) \
    X(int, EVP_DecodeBlock, (unsigned char *t, const unsigned char *f, int n), (t, f, n)) \
    X(int, EVP_Digest, (const void *data, size_t count, unsigned char *md, unsigned int *size, const EVP_MD *type, \
      ENGINE *impl), (data, count, md, size, type, impl)) \
    X(int, EVP_DigestFinal_ex, (EVP_MD_CTX *ctx, unsigned char *md, unsigned int *s), (ctx, md, s)) \
    X(int, EVP_DigestInit_ex2, (EVP_MD_CTX *ctx, const EVP_MD *type, const OSSL_PARAM *params), (ctx, type, params)) \
    X(int, EVP_DigestUpdate, (EVP_MD_CTX *ctx, const void *d, size_t cnt), (ctx, d, cnt)) \
    X(int, EVP_DigestVerify, (EVP_MD_CTX *ctx, const unsigned char *sigret, size_t siglen, const unsigned char *tbs, \
      size_t tbslen), (ctx, sigret, siglen, tbs, tbslen)) \
    X(int, EVP_DigestVerifyInit, (EVP_MD_CTX *ctx, EVP_PKEY_CTX **pctx, const EVP_MD *type, ENGINE *e, \
      EVP_PKEY *pkey), (ctx, pctx, type, e, pkey)) \
    X(void, EVP_MD_CTX_free, (EVP_MD_CTX *ctx), (ctx)) \
    X(EVP_MD_CTX *, EVP_MD_CTX_new, (void), ()) \
    X(EVP_MD *, EVP_MD_fetch, (OSSL_LIB_CTX *ctx, const char *algorithm, const char *properties), \
      (ctx, algorithm, properties)) \
    X(void, EVP_PKEY_free, (EVP_PKEY *pkey), (pkey)) \
    X(EVP_PKEY *, EVP_PKEY_new_raw_public_key, (int type, ENGINE *e, const unsigned char *pub, size_t len), \
      (type, e, pub, len)) \
    X(const EVP_CIPHER *, EVP_aes_256_gcm, (void), ()) \
    X(const EVP_MD *, EVP_sha256, (void), ()) \
    X(unsigned char *, HMAC, (const EVP_MD *evp_md, const void *key, int key_len, const unsigned char *data, \
      size_t data_len, unsigned char *md, unsigned int *md_len), (evp_md, key, key_len, data, data_len, md, md_len)) \
    X(EVP_PKEY *, PEM_read_bio_PrivateKey, (BIO *out, EVP_PKEY **x, pem_password_cb *cb, void *u), (out, x, cb, u)) \
    X(X509 *, PEM_read_bio_X509, (BIO *out, X509 **x, pem_password_cb *cb, void *u), (out, x, cb, u)) \
    X(X509 *, PEM_read_bio_X509_AUX, (BIO *out, X509 **x, pem_password_cb *cb, void *u), (out, x, cb, u)) \
    X(void, PKCS12_free, (PKCS12 *a), (a)) \
    X(int, PKCS12_parse, (PKCS12 *p12, const char *pass, EVP_PKEY **pkey, X509 **cert, struct stack_st_X509 **ca), \
      (p12, pass, pkey, cert, ca)) \
    X(X509 *, X509_STORE_CTX_get0_cert, (const X509_STORE_CTX *ctx), (ctx)) \
    X(struct stack_st_X509 *, X509_STORE_CTX_get0_chain, (const X509_STORE_CTX *ctx), (ctx)) \
    X(void, X509_STORE_CTX_set_error, (X509_STORE_CTX *ctx, int s), (ctx, s)) \
    X(int, X509_VERIFY_PARAM_set1_host, (X509_VERIFY_PARAM *param, const char *name, size_t namelen), \
      (param, name, namelen)) \
    X(int, X509_VERIFY_PARAM_set1_ip_asc, (X509_VERIFY_PARAM *param, const char *ipasc), (param, ipasc)) \
    X(void, X509_VERIFY_PARAM_set_hostflags, (X509_VERIFY_PARAM *param, unsigned int flags), (param, flags)) \
    X(const ASN1_TIME *, X509_get0_notAfter, (const X509 *x), (x)) \
    X(int, ASN1_TIME_to_tm, (const ASN1_TIME *s, struct tm *tm), (s, tm)) \
    X(int, X509_check_private_key, (const X509 *x509, const EVP_PKEY *pkey), (x509, pkey)) \
    X(int, X509_digest, (const X509 *data, const EVP_MD *type, unsigned char *md, unsigned int *len), \
      (data, type, md, len)) \
    X(void, X509_free, (X509 *a), (a)) \
    X(X509_PUBKEY *, X509_get_X509_PUBKEY, (const X509 *x), (x)) \
    X(int, X509_verify_cert, (X509_STORE_CTX *ctx), (ctx)) \
    X(const char *, X509_verify_cert_error_string, (long n), (n)) \
    X(const char *, OpenSSL_version, (int type), (type)) \
    X(PKCS12 *, d2i_PKCS12_bio, (BIO *bp, PKCS12 **p12), (bp, p12)) \
    X(int, i2d_X509_PUBKEY, (const X509_PUBKEY *a, unsigned char **out), (a, out))

#define LATE_SSL(X) \
    X(uint16_t, SSL_CIPHER_get_protocol_id, (const SSL_CIPHER *c), (c)) \
    X(X509_VERIFY_PARAM *, SSL_CTX_get0_param, (SSL_CTX *ctx), (ctx)) \
    X(void *, SSL_CTX_get_ex_data, (const SSL_CTX *ssl, int idx), (ssl, idx)) \
    X(void, SSL_CTX_set_cert_cb, (SSL_CTX *c, int (*cb)(SSL *, void *), void *arg), (c, cb, arg)) \
    X(void, SSL_CTX_set_cert_verify_callback, (SSL_CTX *ctx, int (*cb)(X509_STORE_CTX *, void *), void *arg), \
      (ctx, cb, arg)) \
    X(int, SSL_CTX_set_ex_data, (SSL_CTX *ssl, int idx, void *data), (ssl, idx, data)) \
    X(void, SSL_CTX_set_info_callback, (SSL_CTX *ctx, void (*cb)(const SSL *, int, int)), (ctx, cb)) \
    X(void, SSL_CTX_set_verify, (SSL_CTX *ctx, int mode, SSL_verify_cb callback), (ctx, mode, callback)) \
    X(int, SSL_CTX_use_cert_and_key, (SSL_CTX *ctx, X509 *x509, EVP_PKEY *privatekey, struct stack_st_X509 *chain, \
      int override), (ctx, x509, privatekey, chain, override)) \
    X(void, SSL_get0_alpn_selected, (const SSL *ssl, const unsigned char **data, unsigned int *len), \
      (ssl, data, len)) \
    X(X509 *, SSL_get0_peer_certificate, (const SSL *s), (s)) \
    X(SSL_CTX *, SSL_get_SSL_CTX, (const SSL *ssl), (ssl)) \
    X(const SSL_CIPHER *, SSL_get_current_cipher, (const SSL *s), (s)) \
    X(int, SSL_get_verify_mode, (const SSL *s), (s)) \
    X(long, SSL_get_verify_result, (const SSL *ssl), (ssl)) \
    X(int, SSL_is_init_finished, (const SSL *s), (s)) \
    X(int, SSL_pending, (const SSL *s), (s)) \
    X(int, SSL_version, (const SSL *ssl), (ssl))
