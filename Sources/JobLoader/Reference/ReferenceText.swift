/// The texts of the reference around its tables.
enum ReferenceText {
    static let opening = """
        # The job file

        <!-- Written by the table of keys (Sources/JobLoader/Table). Change it there; a test compares this page with it. -->

        A job file is one YAML document that says what to transfer. `transfer-run jobs.yaml` does it.

        ```yaml
        # yaml-language-server: $schema=../schemas/jobs.schema.json
        version: 1
        variables: { release: "12.7", site: "https://mirror.example.org/debian" }
        tasks:
          - id: release
            url: ${site}/dists/bookworm/Release
            to: mirror/Release
          - id: packages-${arch}
            forEach: { arch: [amd64, arm64] }
            needs: [release]
            url: ${site}/dists/bookworm/${arch}.xz
            to: mirror/${arch}.xz
        ```

        Every problem of a file is reported at once, with its line, its column and what would be right;
        `transfer-run check jobs.yaml` does only that. A key whose behaviour does not exist yet is marked *not built yet*
        here: `check` accepts it, `run` refuses the job and says where the key stands.

        A secret or a variable of the environment that has no value is a warning in `check` and an error in a run. What a job may run,
        read, write, remove and ask stands below the diagnostics: a job file is a program, so run only what you trust
        ([security.md](security.md)).

        """

    /// The language's rules for values, whatever the key.
    static let language = """

        ## Values

        | kind | written |
        | --- | --- |
        | duration | `500ms` `30s` `5m` `2h` `7d` `1h30m`, or a bare number of seconds; units from large to small, each once |
        | size | `16KiB` `256MiB` `2GiB` (×1024), `10kB` `5MB` (×1000), or a bare number of bytes |
        | rate | a size with `/s`: `10MiB/s` |
        | status | `200`, `2xx`, `200-299`, or a list of them, from 100 to 999 |
        | boolean | `true` or `false`. `yes`, `no`, `on` and `off` are text in YAML 1.2, and said to be so |
        | number | as YAML 1.2 writes it; `012` is twelve, and warned about |
        | text | a number in its place is taken as it is written: `3.10` stays `3.10` |
        | path | relative to the job file's folder, or to `--directory`; with the job on standard input to the working folder |
        | file mode | `"0644"` or `0o644`. A bare `0644` is a decimal number in YAML 1.2, and an error |
        | host pattern | `example.org` (that host), `*.example.org` (any below it), `*` (any); with `:8080` for one port |
        | JSON path | RFC 9535, such as `$.items[0].name` |
        | regular expression | PCRE2, UTF-8, with a limit on how long a match may take |
        | time of day | `"01:00"` |
        | date | RFC 3339: `2026-11-21T07:00:00Z` |

        `null` takes a key away, as if it had never been written, in `defaults` and in a session that is extended, too.

        ## Interpolation

        Every text value may hold `${…}`; names of keys may not.

        | written | is |
        | --- | --- |
        | `${name}` | a variable, or a name of `forEach` |
        | `${name.index}`, `${name.field}` | for names of `forEach`: the number from 1, and a field of the value |
        | `${env.NAME}` | a variable of the environment |
        | `${secret.NAME}` | a secret; printed as `***` wherever it would appear |
        | `${tasks.ID.NAME}` | what the task captured; the task that uses it needs that one |
        | `${run.outcome}`, `${run.failed}`, `${run.error}` | what became of the run: in tasks with `when`, and in `onFinish` at its end |
        | `${name:-default}` | the default when the name is unknown or empty; it may hold `${…}` itself |
        | `${name:?message}` | an error with this message when the name is unknown or empty |
        | `${raw:name}` | in a URL: the value as it is, not encoded |
        | `$$` | a `$`; a `$` before anything but `{` or `$` stays as it is |

        A scalar that is only `${name}` keeps the value's type. In a URL a value at the start is taken as the prefix it is;
        one placed later is percent-encoded for the part it stands in (in a path `/` stays), and cannot stand in the host
        unless it needs no encoding. Right after a host a value that begins with `/` is the path, in which its own escapes stay. CR, LF and NUL are errors in a header or URL. In a path, a value placed after its start
        cannot add a `..` segment. Variables may be made of other variables, in any order. `--set` gives a variable its value,
        also one that the job only uses; a name of `forEach` has the values of its list and cannot be set. Secrets cannot stand
        where their text would be shown or decide what the job is: in an `id`, a `to`, a number.

        ## Merging

        A task starts from its session, then from `defaults`; a session from the one it `extends`. Maps merge, key by key and
        for headers whatever the case of their letters; all else replaces; `null` removes. `body` is replaced as a whole.

        """

    static let closing = """

        ## What is checked over all tasks

        - Two tasks with one id, or one destination, are errors.
        - `needs` must name tasks that are there; a pattern must fit at least one. A pattern that fits the task itself
          means the others. Tasks that need each other in a circle are an error that shows the circle.
        - A task that reads a file which another task writes must need that one, directly or through others.
        - A task that writes to standard output must not need one that does so after it in the job.
        - A body with `HEAD` is an error. `Host`, `Connection`, `Content-Length`, `Transfer-Encoding`, `Proxy-…`
          and `WWW-Authenticate` are nobody's to set.
        - A scheme that no session knows is a warning: such a task fails with `unsupportedURL`.
        - Limits: a file has at most 64 MiB and 64 levels; a job 1,000,000 tasks.

        """

    /// Examples by the name of their section.
    static let examples = [
        "networks": """
        interfaces:
          enx0a1b2c3d4e5f: { class: cellular }     # a telephone on a cable
          "wlp*": { metered: true, constrained: true }
        """,
        "secret": """
        secrets:
          API_TOKEN: { env: CI_TOKEN, hosts: [api.example.org] }
          SIGNING: { file: /run/keys/signing }
        """,
        "session": """
        sessions:
          base: { maximumConnectionsPerHost: 4, retry: { attempts: 8 } }
          api:
            extends: base
            configuration: ephemeral
            headers: { Authorization: "Bearer ${secret.API_TOKEN}" }
            redirects: { follow: sameOrigin, maximum: 5 }
        """,
        "task": """
        tasks:
          - id: publish
            type: upload
            method: PUT
            url: https://api.example.org/files/12.7
            body: { file: mirror/amd64.xz }
            expect: { status: [201, 204] }
        """,
        "defaults": """
        defaults: { session: api, retry: { attempts: 5 }, headers: { Accept: application/json } }
        """,
        "forEachSource": """
        tasks:
          - id: chunk-${n}
            forEach: { n: 01..20 }
            url: https://example.org/chunks/${n}
            to: chunks/${n}.bin
          - id: row-${row.index}
            forEach: { row: { csv: files.csv } }
            url: ${row.url}
            to: files/${row.name}
          - id: sums
            url: https://example.org/SHA256SUMS
            to: SHA256SUMS
          - id: file-${f.index}
            forEach: { f: { checksums: { task: sums } } }
            url: https://example.org/${f.path}
            to: files/${f.path}
            checksum: ${f.checksum}
        """,
        "body": """
        body: { json: { name: nightly, count: 3 } }
        """,
        "limits": """
        limits: { maximumConcurrentTasks: 16, bandwidth: 10MiB/s }
        """,
        "report": """
        report: { json: out/report.json, events: out/events.ndjson }
        """,
        "retry": """
        retry: { attempts: 8, backoff: { initial: 2s, maximum: 5m }, statuses: [429, 5xx] }
        """,
        "checksum": """
        checksum: { from: sums, algorithm: sha256, entry: debian.iso }
        """,
        "signature": """
        checksum:
          from: https://downloads.example.org/SHA256SUMS
          signature: { key: RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3 }
        """,
        "tls": """
        tls:
          minimum: "1.3"
          trust: { ca: certs/company.pem, pin: ["sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="] }
          clientCertificates:
            - { host: "*.example.org", certificate: certs/me.p12, password: "${secret.CERT_PASSWORD}" }
        """,
        "proxy": """
        proxy:
          all: http://proxy.example.org:3128
          https: socks5h://me:${secret.GATE_PASSWORD}@gate.example.org
          bypass: [localhost, "*.example.org", 10.0.0.0/8]
        """,
        "window": """
        window: { from: "22:00", to: "06:00", days: [monday, tuesday], timezone: Europe/Berlin }
        """,
        "bandwidthHours": """
        bandwidth:
          - { from: "08:00", to: "18:00", days: [monday, tuesday, wednesday, thursday, friday], rate: 1MiB/s }
          - { from: "18:00", to: "08:00", rate: 20MiB/s }
        """,
        "tracing": """
        tracing: { propagateTo: ["*.example.org", "127.0.0.1:8080"] }
        """,
        "minimumRate": """
        minimumRate: { rate: 1kB/s, over: 30s }
        """,
    ]
}
