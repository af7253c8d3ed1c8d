/// The options of curl.
enum CurlOptions {
    static let table = OptionTable(rows)

    /// Name, short name, value or flag, effect, hint.
    private static let rows = """
        url - V translated
        next : F translated
        output o V translated
        remote-name O F translated
        remote-name-all - F translated
        remote-header-name J F translated
        output-dir - V translated
        create-dirs - F usual
        remove-on-error - F usual
        no-clobber - F refused `existing: skip` keeps a file that is there
        create-file-mode - V translated
        request X V translated
        head I F translated
        get G F translated
        header H V translated
        user-agent A V translated
        referer e V translated
        range r V translated
        data d V translated
        data-ascii - V translated
        data-raw - V translated
        data-binary - V translated
        data-urlencode - V translated
        json - V translated
        form F V translated
        form-string - V translated
        form-escape - F refused names are always escaped as browsers do
        url-query - V translated
        upload-file T V translated
        append a F refused
        user u V translated
        basic - F translated
        digest - F translated
        ntlm - F translated
        negotiate - F translated
        anyauth - F translated
        oauth2-bearer - V translated
        aws-sigv4 - V translated
        netrc n F translated
        netrc-optional - F translated
        netrc-file - V refused `credentials: [{ netrc: true }]` reads the one in the home folder
        location L F translated
        location-trusted - F translated
        max-redirs - V translated
        post301 - F translated
        post302 - F translated
        post303 - F translated
        proto - V translated
        proto-default - V lost write the scheme into the URL
        proto-redir - V translated
        fail f F translated
        fail-with-body - F translated
        fail-early - F translated
        retry - V translated
        retry-delay - V translated
        retry-max-time - V translated
        retry-all-errors - F translated
        retry-connrefused - F usual
        connect-timeout - V translated
        max-time m V translated
        speed-limit Y V translated
        speed-time y V translated
        limit-rate - V translated
        rate - V translated
        max-filesize - V translated
        continue-at C V translated
        remote-time R F usual
        time-cond z V translated
        etag-compare - V lost `existing: revalidate`, the default, keeps ETags by itself
        etag-save - V lost `existing: revalidate`, the default, keeps ETags by itself
        compressed - F translated
        compressed-ssh - F lost
        tr-encoding - F lost
        raw - F lost
        cookie b V translated
        cookie-jar c V translated
        junk-session-cookies j F refused
        proxy x V translated
        preproxy - V refused
        proxy-user U V translated
        proxytunnel p F refused https always tunnels through a proxy
        proxy-basic - F translated
        proxy-digest - F translated
        proxy-ntlm - F translated
        proxy-negotiate - F translated
        proxy-anyauth - F translated
        proxy-header - V refused
        proxy1.0 - V refused
        proxy-insecure - F refused
        proxy-cacert - V refused
        proxy-capath - V refused
        proxy-cert - V refused
        proxy-key - V refused
        proxy-pass - V refused
        socks4 - V translated
        socks4a - V translated
        socks5 - V translated
        socks5-hostname - V translated
        noproxy - V translated
        insecure k F translated
        cacert - V translated
        capath - V refused `tls: { trust: { ca: FILE } }` takes one file of certificates
        ca-native - F lost
        crlfile - V refused
        cert E V translated
        cert-type - V refused
        key - V translated
        key-type - V refused
        pass - V translated
        pinnedpubkey - V translated
        ciphers - V lost
        tls13-ciphers - V lost
        curves - V lost
        engine - V refused
        tlsv1 1 F translated
        tlsv1.0 - F translated
        tlsv1.1 - F translated
        tlsv1.2 - F translated
        tlsv1.3 - F translated
        tls-max - V translated
        sslv2 2 F lost
        sslv3 3 F lost
        ssl - F refused
        ssl-reqd - F refused
        ssl-no-revoke - F usual
        ssl-revoke-best-effort - F usual
        ssl-allow-beast - F lost
        cert-status - F refused
        false-start - F lost
        alpn - F usual
        no-alpn - F translated
        http0.9 - F lost
        http1.0 0 F lost
        http1.1 - F translated
        http2 - F translated
        http2-prior-knowledge - F translated
        http3 - F lost
        http3-only - F lost
        ipv4 4 F translated
        ipv6 6 F translated
        resolve - V translated
        connect-to - V translated
        unix-socket - V translated
        abstract-unix-socket - V refused
        interface - V lost
        local-port - V lost
        dns-interface - V lost
        dns-ipv4-addr - V lost
        dns-ipv6-addr - V lost
        dns-servers - V lost
        doh-url - V lost
        doh-insecure - F lost
        happy-eyeballs-timeout-ms - V lost
        haproxy-protocol - F refused
        tcp-fastopen - F lost
        tcp-nodelay - F usual
        keepalive - F usual
        keepalive-time - V lost
        keepalive-cnt - V lost
        path-as-is - F refused `.` and `..` in a URL's path are resolved, as RFC 3986 says
        globoff g F translated
        request-target - V refused
        expect100-timeout - V lost `http: { expectContinue: true }` asks before sending
        ignore-content-length - F lost
        hsts - V lost sessions keep HSTS by themselves
        alt-svc - V lost
        delegation - V lost
        service-name - V lost
        parallel Z F usual
        parallel-immediate - F usual
        parallel-max - V translated
        config K V refused import that file, too
        disable q F usual
        variable - V refused
        quote Q V refused
        ftp-account - V refused
        ftp-alternative-to-user - V refused
        ftp-create-dirs - F lost
        ftp-method - V refused
        ftp-pasv - F usual
        ftp-port P V lost
        ftp-pret - F lost
        ftp-skip-pasv-ip - F lost
        ftp-ssl-ccc - F lost
        disable-epsv - F lost
        disable-eprt - F lost
        list-only l F refused
        use-ascii B F refused
        crlf - F refused
        mail-from - V refused
        mail-rcpt - V refused
        mail-auth - V refused
        telnet-option t V refused
        tftp-blksize - V lost
        pubkey - V refused
        hostpubmd5 - V lost
        hostpubsha256 - V lost
        krb - V lost
        login-options - V refused
        sasl-ir - F lost
        xattr - F lost the report has URL and type
        write-out w V lost the report has statuses, times and sizes of each task
        dump-header D V lost the report has the headers of each task
        include i F lost the report has the headers of each task
        show-headers - F lost the report has the headers of each task
        stderr - V lost
        libcurl - V lost
        trace - V lost `--events FILE` and `--har FILE` write what happens
        trace-ascii - V lost `--events FILE` and `--har FILE` write what happens
        trace-time - F shown
        trace-ids - F shown
        verbose v F shown
        silent s F shown
        show-error S F shown
        progress-bar # F shown
        progress-meter - F shown
        buffer - F shown
        no-buffer N F shown
        styled-output - F shown
        sessionid - F usual
        help h F shown
        manual M F shown
        version V F shown
        """
}
