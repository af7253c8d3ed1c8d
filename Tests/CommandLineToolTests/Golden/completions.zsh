#compdef transfer-run
# zsh completion for transfer-run. Written by `transfer-run completions zsh`, from the program's own tables.
# Use it: transfer-run completions zsh > "${fpath[1]}/_transfer-run"

_transfer-run_ask() {
    local -a names
    names=("${(@f)$($words[1] completions "$@" 2>/dev/null </dev/null)}")
    compadd -a names
}
_transfer-run_jobs() { _files -g '*.(yaml|yml)(-.)' }
_transfer-run_reports() { _files -g '*.json(-.)' }
_transfer-run_sessions() { _transfer-run_ask sessions }
_transfer-run_tasks() { _transfer-run_ask tasks ${(M)words[2,-1]:#*.(yaml|yml)} }
_transfer-run_reported() { _transfer-run_ask reported ${${(M)words[2,-1]:#*.json}[1]} }

_transfer-run_commands() {
    local -a commands=(
        'run:run a job, or several files together under one set of limits; `-` reads it from standard input'
        'check:report every mistake of a job file, without the network'
        'init:write a first job file, `transfer.yaml`, that downloads these URLs or does what this command of curl, wget or aria2 does'
        'import:print a job file made of shell scripts with curl and wget, configuration files of curl, lists of URLs, input files of aria2 or Metalink 4; `-` is standard input'
        'unit:print a systemd service and timer that run the job, with access to what it writes alone'
        'plan:what a run would do: its tasks in their order, hosts, limits, and what is there already; nothing is sent or written'
        'simulate:how long a run would take, which limit binds and what faults do: the real scheduler on a virtual clock, before a network that is modelled (`--model`) or measured (`--from`)'
        'lock:write `<stem>.lock` beside the job: final URL, size, validator, sha256, type and certificate of each download; `run --locked` holds a run to it'
        'rerun:run the job of a report again for the tasks that did not succeed, or for those that are chosen'
        'report:`convert`: a run'\''s report in other formats; `diff OLD NEW`: what changed between two; `merge`: the reports of several runs as one; `-` is standard input'
        'explain:where the time of a run, or of one task, went, what held it back and what to change, in words'
        'verify:hold the files on the disk against what a report, a lock or a file of checksums says of them, on all cores; goes on where it was interrupted'
        'status:background sessions and runs under way: how far they are and what their tasks wait for'
        'attach:follow a background session as if it had never been left'
        'suspend:suspend a background session or a run under way, or its tasks of these ids or patterns of ids'
        'resume:let what was suspended go on'
        'cancel:cancel a background session, a run under way or some of its tasks, and remove half-done files'
        'reset:forget cache, cookies, credentials and resume data of a session'
        'daemon:the background process, in the foreground, for systemd'
        'schema:print the job language'\''s JSON Schema'
        'completions:print a completion script for this shell'
        'help:what a command does and its options'
    )
    _describe -t commands command commands
}

_transfer-run() {
    local command=run word
    for word in ${words[2,CURRENT-1]}; do
        case $word in
            -*) ;;
            run|check|init|import|unit|plan|simulate|lock|rerun|report|explain|verify|status|attach|suspend|resume|cancel|reset|daemon|schema|completions|help) command=$word; break ;;
            *) break ;;
        esac
    done
    case $command in
        run) _arguments -s \
            '--report=[write the JSON report there; `-` is standard output]:PATH:_files' \
            '--no-report[write no JSON report]' \
            '--events=[write each event as a line of JSON there, as it happens; `-` is standard output]:PATH:_files' \
            '--junit=[write a JUnit report there]:PATH:_files' \
            '--html=[write a page for people there; `simulate`\: the plot of a sweep]:PATH:_files' \
            '--har=[write an HTTP archive there (HAR 1.2)]:PATH:_files' \
            '--trace=[write a trace for Perfetto there, packed if PATH ends in `.gz`]:PATH:_files' \
            '--otlp=[write OpenTelemetry'\''s spans there, as JSON]:PATH:_files' \
            '--prometheus=[write metrics for Prometheus'\''s textfile collector there]:PATH:_files' \
            '--markdown=[write a summary in Markdown there]:PATH:_files' \
            '--failed-list=[write a line of JSON there for each task that did not succeed]:PATH:_files' \
            '*--set=[give a variable another value]:NAME=VALUE: ' \
            '--variables-file=[a YAML map of variables]:PATH:_files' \
            '--secrets-file=[lines of `NAME=value` with secrets]:PATH:_files' \
            '--directory=[the folder that relative paths start from, instead of the job file'\''s]:DIR:_files -/' \
            '*--only=[run only tasks whose id matches, `*` for anything, and what they need]:ID-PATTERN:_transfer-run_tasks' \
            '*--except=[leave out tasks whose id matches; what needs them runs without them, unless it uses what they capture]:ID-PATTERN:_transfer-run_tasks' \
            '--plan=[hold the servers to what they said when `plan --online --save FILE` asked them\: what moved since is refused before anything is fetched]:FILE:_files' \
            '--locked[hold each download to the job'\''s lock (`transfer-run lock JOB`)\: other bytes or another final URL are refused before they are in place]' \
            '--max-concurrent=[at most so many tasks at a time, over `limits.maximumConcurrentTasks`]:N: ' \
            '--bandwidth=[a rate for the whole run, such as `10MiB/s`, over `limits.bandwidth`]:RATE: ' \
            '--fail-fast[the first failure cancels the rest]' \
            '--exit-unchanged[end with 9 when nothing changed]' \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--no-wait[put off to the next run what a network, power, a window or `earliestBegin` holds back, and end with 75; what is in a background session goes on by itself]' \
            '--detach[hand background sessions over and return]' \
            '--new-run[do not come back to an earlier run of a background session]' \
            '--network=[take this instead of what the system says\: `wired`, `wifi`, `cellular` or `none`, then `,metered` and `,constrained` as it is]:CLASS: ' \
            '*--confine=[for job files that are not trusted\: nothing is read or written outside this folder, no command runs, no variable of the environment is read; `best-effort` beside it goes on where the kernel lacks a means]:DIR:_files -/' \
            '*--allow-env=[let a confined job read this variable]:NAME: ' \
            '*--allow-address=[let a confined job connect to these addresses]:CIDR: ' \
            '--policy=[an operator'\''s rules, which win over the job'\''s and the command line'\''s]:FILE:_files' \
            '--progress=[what to show while it runs\: bars where standard error is a terminal, else lines]:auto:(auto bar plain none)' \
            '--color=[colour on standard error]:auto:(auto always never)' \
            '--verbose[show each attempt, redirect and wait as well; `status`\: networks and power, too, and of one run every task; `plan`\: every task]' \
            '--quiet[show the summary only]' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :{_transfer-run_commands; _transfer-run_jobs}' \
            '*: :_transfer-run_jobs' ;;
        check) _arguments -s \
            '*--set=[give a variable another value]:NAME=VALUE: ' \
            '--variables-file=[a YAML map of variables]:PATH:_files' \
            '--secrets-file=[lines of `NAME=value` with secrets]:PATH:_files' \
            '--directory=[the folder that relative paths start from, instead of the job file'\''s]:DIR:_files -/' \
            '*--confine=[for job files that are not trusted\: nothing is read or written outside this folder, no command runs, no variable of the environment is read; `best-effort` beside it goes on where the kernel lacks a means]:DIR:_files -/' \
            '*--allow-env=[let a confined job read this variable]:NAME: ' \
            '*--allow-address=[let a confined job connect to these addresses]:CIDR: ' \
            '--policy=[an operator'\''s rules, which win over the job'\''s and the command line'\''s]:FILE:_files' \
            '--color=[colour on standard error]:auto:(auto always never)' \
            '--format=[how diagnostics are written]:text:(text json github)' \
            '--explain-access[list everything that the job may run, read, write, remove and ask, each with its place in the file]' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_jobs' \
            '*: :_transfer-run_jobs' ;;
        init) _arguments -s \
            '--output=[where `init` writes the job, otherwise `transfer.yaml`, and `report merge` the report, otherwise standard output; `-` is standard output]:PATH:_files' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' ;;
        import) _arguments -s \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_files' \
            '*: :_files' ;;
        unit) _arguments -s \
            '*--set=[give a variable another value]:NAME=VALUE: ' \
            '--variables-file=[a YAML map of variables]:PATH:_files' \
            '--secrets-file=[lines of `NAME=value` with secrets]:PATH:_files' \
            '--directory=[the folder that relative paths start from, instead of the job file'\''s]:DIR:_files -/' \
            '--calendar=[when the timer starts the job, as systemd'\''s `OnCalendar` takes it; otherwise daily]:WHEN: ' \
            '--randomized-delay=[spread the timer'\''s start over this time, such as `15m`, so that many machines do not ask at once]:DURATION: ' \
            '--on-failure=[the unit that systemd starts when the job fails, such as `alert@%n.service`]:UNIT: ' \
            '--user=[run the service as this user instead of root; for units that root writes]:NAME: ' \
            '--dynamic-user[run the service as a user that exists only while it runs, instead of root\: what the job writes is below /var/lib/transfer-run-JOB-files]' \
            '--install[write the units into ~/.config/systemd/user, or as root into /etc/systemd/system, and say how to enable them]' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_jobs' ;;
        plan) _arguments -s \
            '*--set=[give a variable another value]:NAME=VALUE: ' \
            '--variables-file=[a YAML map of variables]:PATH:_files' \
            '--secrets-file=[lines of `NAME=value` with secrets]:PATH:_files' \
            '--directory=[the folder that relative paths start from, instead of the job file'\''s]:DIR:_files -/' \
            '*--only=[run only tasks whose id matches, `*` for anything, and what they need]:ID-PATTERN:_transfer-run_tasks' \
            '*--except=[leave out tasks whose id matches; what needs them runs without them, unless it uses what they capture]:ID-PATTERN:_transfer-run_tasks' \
            '--max-concurrent=[at most so many tasks at a time, over `limits.maximumConcurrentTasks`]:N: ' \
            '--bandwidth=[a rate for the whole run, such as `10MiB/s`, over `limits.bandwidth`]:RATE: ' \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '*--confine=[for job files that are not trusted\: nothing is read or written outside this folder, no command runs, no variable of the environment is read; `best-effort` beside it goes on where the kernel lacks a means]:DIR:_files -/' \
            '*--allow-env=[let a confined job read this variable]:NAME: ' \
            '*--allow-address=[let a confined job connect to these addresses]:CIDR: ' \
            '--policy=[an operator'\''s rules, which win over the job'\''s and the command line'\''s]:FILE:_files' \
            '--color=[colour on standard error]:auto:(auto always never)' \
            '--verbose[show each attempt, redirect and wait as well; `status`\: networks and power, too, and of one run every task; `plan`\: every task]' \
            '--online[ask the servers for sizes and changes, without fetching anything\: bytes, disk space and least time are then known]' \
            '--save=[write what the servers say there (`--online`), for `run --plan FILE`]:FILE:_files' \
            '--json[print JSON; `simulate`\: the report that such a run would write]' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_jobs' \
            '*: :_transfer-run_jobs' ;;
        simulate) _arguments -s \
            '--html=[write a page for people there; `simulate`\: the plot of a sweep]:PATH:_files' \
            '*--set=[give a variable another value]:NAME=VALUE: ' \
            '--variables-file=[a YAML map of variables]:PATH:_files' \
            '--secrets-file=[lines of `NAME=value` with secrets]:PATH:_files' \
            '--directory=[the folder that relative paths start from, instead of the job file'\''s]:DIR:_files -/' \
            '*--only=[run only tasks whose id matches, `*` for anything, and what they need]:ID-PATTERN:_transfer-run_tasks' \
            '*--except=[leave out tasks whose id matches; what needs them runs without them, unless it uses what they capture]:ID-PATTERN:_transfer-run_tasks' \
            '--max-concurrent=[at most so many tasks at a time, over `limits.maximumConcurrentTasks`]:N: ' \
            '--bandwidth=[a rate for the whole run, such as `10MiB/s`, over `limits.bandwidth`]:RATE: ' \
            '--fail-fast[the first failure cancels the rest]' \
            '--color=[colour on standard error]:auto:(auto always never)' \
            '--json[print JSON; `simulate`\: the report that such a run would write]' \
            '--model=[a YAML file that says what each host is like]:FILE:_files' \
            '--from=[`simulate`\: the report of an earlier run, in which the hosts are measured; `verify`\: the URL below which the files of a list are, for `--repair`]:REPORT:_transfer-run_reports' \
            '--seed=[the seed of all chances, 1 by default\: the same seed gives the same result]:N: ' \
            '*--sweep=[vary a setting, such as `sessions.default.maximumConnectionsPerHost=2,4,8` or `limits.bandwidth=1MiB/s,10MiB/s`]:KEY=VALUES: ' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_jobs' \
            '*: :_transfer-run_jobs' ;;
        lock) _arguments -s \
            '*--set=[give a variable another value]:NAME=VALUE: ' \
            '--variables-file=[a YAML map of variables]:PATH:_files' \
            '--secrets-file=[lines of `NAME=value` with secrets]:PATH:_files' \
            '--directory=[the folder that relative paths start from, instead of the job file'\''s]:DIR:_files -/' \
            '--max-concurrent=[at most so many tasks at a time, over `limits.maximumConcurrentTasks`]:N: ' \
            '--bandwidth=[a rate for the whole run, such as `10MiB/s`, over `limits.bandwidth`]:RATE: ' \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--color=[colour on standard error]:auto:(auto always never)' \
            '*--update=[lock only these tasks anew, ids or patterns; the others stay as they are]:ID:_transfer-run_tasks' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_jobs' ;;
        rerun) _arguments -s \
            '--report=[write the JSON report there; `-` is standard output]:PATH:_files' \
            '--no-report[write no JSON report]' \
            '--events=[write each event as a line of JSON there, as it happens; `-` is standard output]:PATH:_files' \
            '--junit=[write a JUnit report there]:PATH:_files' \
            '--html=[write a page for people there; `simulate`\: the plot of a sweep]:PATH:_files' \
            '--har=[write an HTTP archive there (HAR 1.2)]:PATH:_files' \
            '--trace=[write a trace for Perfetto there, packed if PATH ends in `.gz`]:PATH:_files' \
            '--otlp=[write OpenTelemetry'\''s spans there, as JSON]:PATH:_files' \
            '--prometheus=[write metrics for Prometheus'\''s textfile collector there]:PATH:_files' \
            '--markdown=[write a summary in Markdown there]:PATH:_files' \
            '--failed-list=[write a line of JSON there for each task that did not succeed]:PATH:_files' \
            '*--set=[give a variable another value]:NAME=VALUE: ' \
            '--variables-file=[a YAML map of variables]:PATH:_files' \
            '--secrets-file=[lines of `NAME=value` with secrets]:PATH:_files' \
            '--directory=[the folder that relative paths start from, instead of the job file'\''s]:DIR:_files -/' \
            '--plan=[hold the servers to what they said when `plan --online --save FILE` asked them\: what moved since is refused before anything is fetched]:FILE:_files' \
            '--locked[hold each download to the job'\''s lock (`transfer-run lock JOB`)\: other bytes or another final URL are refused before they are in place]' \
            '--max-concurrent=[at most so many tasks at a time, over `limits.maximumConcurrentTasks`]:N: ' \
            '--bandwidth=[a rate for the whole run, such as `10MiB/s`, over `limits.bandwidth`]:RATE: ' \
            '--fail-fast[the first failure cancels the rest]' \
            '--exit-unchanged[end with 9 when nothing changed]' \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--no-wait[put off to the next run what a network, power, a window or `earliestBegin` holds back, and end with 75; what is in a background session goes on by itself]' \
            '--detach[hand background sessions over and return]' \
            '--new-run[do not come back to an earlier run of a background session]' \
            '--network=[take this instead of what the system says\: `wired`, `wifi`, `cellular` or `none`, then `,metered` and `,constrained` as it is]:CLASS: ' \
            '*--confine=[for job files that are not trusted\: nothing is read or written outside this folder, no command runs, no variable of the environment is read; `best-effort` beside it goes on where the kernel lacks a means]:DIR:_files -/' \
            '*--allow-env=[let a confined job read this variable]:NAME: ' \
            '*--allow-address=[let a confined job connect to these addresses]:CIDR: ' \
            '--policy=[an operator'\''s rules, which win over the job'\''s and the command line'\''s]:FILE:_files' \
            '--progress=[what to show while it runs\: bars where standard error is a terminal, else lines]:auto:(auto bar plain none)' \
            '--color=[colour on standard error]:auto:(auto always never)' \
            '--verbose[show each attempt, redirect and wait as well; `status`\: networks and power, too, and of one run every task; `plan`\: every task]' \
            '--quiet[show the summary only]' \
            '--failed[the tasks that did not succeed, as without any choice]' \
            '--changed[the tasks whose file changed in that run]' \
            '--all[every task of the report]' \
            '*--task=[this task of the report]:ID:_transfer-run_reported' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_reports' ;;
        report) _arguments -s \
            '--junit=[write a JUnit report there]:PATH:_files' \
            '--html=[write a page for people there; `simulate`\: the plot of a sweep]:PATH:_files' \
            '--har=[write an HTTP archive there (HAR 1.2)]:PATH:_files' \
            '--trace=[write a trace for Perfetto there, packed if PATH ends in `.gz`]:PATH:_files' \
            '--otlp=[write OpenTelemetry'\''s spans there, as JSON]:PATH:_files' \
            '--prometheus=[write metrics for Prometheus'\''s textfile collector there]:PATH:_files' \
            '--markdown=[write a summary in Markdown there]:PATH:_files' \
            '--failed-list=[write a line of JSON there for each task that did not succeed]:PATH:_files' \
            '--output=[where `init` writes the job, otherwise `transfer.yaml`, and `report merge` the report, otherwise standard output; `-` is standard output]:PATH:_files' \
            '*--fail-on=[end with 1 where `report diff` finds this\: `failed`, `slower`, `larger`, `smaller`, `redirected`, `certificate`, `missing`, `added` or `any`]:CHANGE: ' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :(convert diff merge)' \
            '*: :_transfer-run_reports' ;;
        explain) _arguments -s \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_reports' \
            '*: :_transfer-run_reported' ;;
        verify) _arguments -s \
            '*--set=[give a variable another value]:NAME=VALUE: ' \
            '--variables-file=[a YAML map of variables]:PATH:_files' \
            '--secrets-file=[lines of `NAME=value` with secrets]:PATH:_files' \
            '--directory=[the folder that relative paths start from, instead of the job file'\''s]:DIR:_files -/' \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--json[print JSON; `simulate`\: the report that such a run would write]' \
            '--repair[fetch again what is missing or differs from a report, a lock or, with `--from`, a list]' \
            '--from=[`simulate`\: the report of an earlier run, in which the hosts are measured; `verify`\: the URL below which the files of a list are, for `--repair`]:REPORT:_transfer-run_reports' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_files' ;;
        status) _arguments -s \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--network=[take this instead of what the system says\: `wired`, `wifi`, `cellular` or `none`, then `,metered` and `,constrained` as it is]:CLASS: ' \
            '--verbose[show each attempt, redirect and wait as well; `status`\: networks and power, too, and of one run every task; `plan`\: every task]' \
            '--json[print JSON; `simulate`\: the report that such a run would write]' \
            '--watch[show it again whenever it has changed]' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_sessions' ;;
        attach) _arguments -s \
            '--report=[write the JSON report there; `-` is standard output]:PATH:_files' \
            '--no-report[write no JSON report]' \
            '--events=[write each event as a line of JSON there, as it happens; `-` is standard output]:PATH:_files' \
            '--junit=[write a JUnit report there]:PATH:_files' \
            '--html=[write a page for people there; `simulate`\: the plot of a sweep]:PATH:_files' \
            '--har=[write an HTTP archive there (HAR 1.2)]:PATH:_files' \
            '--trace=[write a trace for Perfetto there, packed if PATH ends in `.gz`]:PATH:_files' \
            '--otlp=[write OpenTelemetry'\''s spans there, as JSON]:PATH:_files' \
            '--prometheus=[write metrics for Prometheus'\''s textfile collector there]:PATH:_files' \
            '--markdown=[write a summary in Markdown there]:PATH:_files' \
            '--failed-list=[write a line of JSON there for each task that did not succeed]:PATH:_files' \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--progress=[what to show while it runs\: bars where standard error is a terminal, else lines]:auto:(auto bar plain none)' \
            '--color=[colour on standard error]:auto:(auto always never)' \
            '--verbose[show each attempt, redirect and wait as well; `status`\: networks and power, too, and of one run every task; `plan`\: every task]' \
            '--quiet[show the summary only]' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_sessions' ;;
        suspend) _arguments -s \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_sessions' ;;
        resume) _arguments -s \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_sessions' ;;
        cancel) _arguments -s \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--resumable[keep half-done files]' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_sessions' ;;
        reset) _arguments -s \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' ;;
        daemon) _arguments -s \
            '--state-dir=[keep state, cache and sockets under this folder]:DIR:_files -/' \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' ;;
        schema) _arguments -s \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' ;;
        completions) _arguments -s \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :(bash zsh fish)' ;;
        help) _arguments -s \
            '--help[print help and end]' \
            '--version[print the versions of transfer-run and its libraries and end]' \
            '1: :_transfer-run_commands' \
            '2: :_transfer-run_commands' ;;
    esac
}

if [[ $funcstack[1] == _transfer-run ]]; then _transfer-run "$@"; else compdef _transfer-run transfer-run; fi
