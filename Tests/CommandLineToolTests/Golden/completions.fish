# fish completion for transfer-run. Written by `transfer-run completions fish`, from the program's own tables.
# Use it: transfer-run completions fish > ~/.config/fish/completions/transfer-run.fish

set -g __transfer_run_commands run check init import unit plan simulate lock rerun report explain verify status attach suspend resume cancel reset daemon schema completions help

# The command that was typed: `run` where its name was left out.
function __transfer_run_command
    for word in (commandline -opc)[2..-1]
        string match -q -- '-*' $word; and continue
        contains -- $word $__transfer_run_commands; and echo $word; or echo run
        return
    end
    echo none
end
function __transfer_run_is
    contains -- (__transfer_run_command) $argv
end
function __transfer_run_tasks
    transfer-run completions tasks (string match -r -- '.*\.ya?ml$' (commandline -opc)) 2>/dev/null </dev/null
end
function __transfer_run_reported
    transfer-run completions reported (string match -r -- '.*\.json$' (commandline -opc))[1] 2>/dev/null </dev/null
end
function __transfer_run_sessions
    transfer-run completions sessions 2>/dev/null </dev/null
end
function __transfer_run_files
    __fish_complete_suffix $argv
end

complete -c transfer-run -f
complete -c transfer-run -n '__transfer_run_is none' -a '(__transfer_run_files .yaml) (__transfer_run_files .yml)'
complete -c transfer-run -n '__transfer_run_is none' -a run -d 'run a job, or several files together under one set of limits; `-` reads it from standard input'
complete -c transfer-run -n '__transfer_run_is none' -a check -d 'report every mistake of a job file, without the network'
complete -c transfer-run -n '__transfer_run_is none' -a init -d 'write a first job file, `transfer.yaml`, that downloads these URLs or does what this command of curl, wget or aria2 does'
complete -c transfer-run -n '__transfer_run_is none' -a import -d 'print a job file made of shell scripts with curl and wget, configuration files of curl, lists of URLs, input files of aria2 or Metalink 4; `-` is standard input'
complete -c transfer-run -n '__transfer_run_is none' -a unit -d 'print a systemd service and timer that run the job, with access to what it writes alone'
complete -c transfer-run -n '__transfer_run_is none' -a plan -d 'what a run would do: its tasks in their order, hosts, limits, and what is there already; nothing is sent or written'
complete -c transfer-run -n '__transfer_run_is none' -a simulate -d 'how long a run would take, which limit binds and what faults do: the real scheduler on a virtual clock, before a network that is modelled (`--model`) or measured (`--from`)'
complete -c transfer-run -n '__transfer_run_is none' -a lock -d 'write `<stem>.lock` beside the job: final URL, size, validator, sha256, type and certificate of each download; `run --locked` holds a run to it'
complete -c transfer-run -n '__transfer_run_is none' -a rerun -d 'run the job of a report again for the tasks that did not succeed, or for those that are chosen'
complete -c transfer-run -n '__transfer_run_is none' -a report -d '`convert`: a run\'s report in other formats; `diff OLD NEW`: what changed between two; `merge`: the reports of several runs as one; `-` is standard input'
complete -c transfer-run -n '__transfer_run_is none' -a explain -d 'where the time of a run, or of one task, went, what held it back and what to change, in words'
complete -c transfer-run -n '__transfer_run_is none' -a verify -d 'hold the files on the disk against what a report, a lock or a file of checksums says of them, on all cores; goes on where it was interrupted'
complete -c transfer-run -n '__transfer_run_is none' -a status -d 'background sessions and runs under way: how far they are and what their tasks wait for'
complete -c transfer-run -n '__transfer_run_is none' -a attach -d 'follow a background session as if it had never been left'
complete -c transfer-run -n '__transfer_run_is none' -a suspend -d 'suspend a background session or a run under way, or its tasks of these ids or patterns of ids'
complete -c transfer-run -n '__transfer_run_is none' -a resume -d 'let what was suspended go on'
complete -c transfer-run -n '__transfer_run_is none' -a cancel -d 'cancel a background session, a run under way or some of its tasks, and remove half-done files'
complete -c transfer-run -n '__transfer_run_is none' -a reset -d 'forget cache, cookies, credentials and resume data of a session'
complete -c transfer-run -n '__transfer_run_is none' -a daemon -d 'the background process, in the foreground, for systemd'
complete -c transfer-run -n '__transfer_run_is none' -a schema -d 'print the job language\'s JSON Schema'
complete -c transfer-run -n '__transfer_run_is none' -a completions -d 'print a completion script for this shell'
complete -c transfer-run -n '__transfer_run_is none' -a help -d 'what a command does and its options'
complete -c transfer-run -n '__transfer_run_is run' -a '(__transfer_run_files .yaml) (__transfer_run_files .yml)'
complete -c transfer-run -n '__transfer_run_is check' -a '(__transfer_run_files .yaml) (__transfer_run_files .yml)'
complete -c transfer-run -n '__transfer_run_is import' -a '(__fish_complete_path)'
complete -c transfer-run -n '__transfer_run_is unit' -a '(__transfer_run_files .yaml) (__transfer_run_files .yml)'
complete -c transfer-run -n '__transfer_run_is plan' -a '(__transfer_run_files .yaml) (__transfer_run_files .yml)'
complete -c transfer-run -n '__transfer_run_is simulate' -a '(__transfer_run_files .yaml) (__transfer_run_files .yml)'
complete -c transfer-run -n '__transfer_run_is lock' -a '(__transfer_run_files .yaml) (__transfer_run_files .yml)'
complete -c transfer-run -n '__transfer_run_is rerun' -a '(__transfer_run_files .json)'
complete -c transfer-run -n '__transfer_run_is report' -a 'convert diff merge'
complete -c transfer-run -n '__transfer_run_is report' -a '(__transfer_run_files .json)'
complete -c transfer-run -n '__transfer_run_is explain' -a '(__transfer_run_files .json)'
complete -c transfer-run -n '__transfer_run_is explain' -a '(__transfer_run_reported)'
complete -c transfer-run -n '__transfer_run_is verify' -a '(__fish_complete_path)'
complete -c transfer-run -n '__transfer_run_is status' -a '(__transfer_run_sessions)'
complete -c transfer-run -n '__transfer_run_is attach' -a '(__transfer_run_sessions)'
complete -c transfer-run -n '__transfer_run_is suspend' -a '(__transfer_run_sessions)'
complete -c transfer-run -n '__transfer_run_is resume' -a '(__transfer_run_sessions)'
complete -c transfer-run -n '__transfer_run_is cancel' -a '(__transfer_run_sessions)'
complete -c transfer-run -n '__transfer_run_is completions' -a 'bash zsh fish'
complete -c transfer-run -n '__transfer_run_is help' -a '$__transfer_run_commands'
complete -c transfer-run -n '__transfer_run_is run rerun attach none' -l report -d 'write the JSON report there; `-` is standard output' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun attach none' -l no-report -d 'write no JSON report'
complete -c transfer-run -n '__transfer_run_is run rerun attach none' -l events -d 'write each event as a line of JSON there, as it happens; `-` is standard output' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun attach report none' -l junit -d 'write a JUnit report there' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun attach report simulate none' -l html -d 'write a page for people there; `simulate`: the plot of a sweep' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun attach report none' -l har -d 'write an HTTP archive there (HAR 1.2)' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun attach report none' -l trace -d 'write a trace for Perfetto there, packed if PATH ends in `.gz`' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun attach report none' -l otlp -d 'write OpenTelemetry\'s spans there, as JSON' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun attach report none' -l prometheus -d 'write metrics for Prometheus\'s textfile collector there' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun attach report none' -l markdown -d 'write a summary in Markdown there' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun attach report none' -l failed-list -d 'write a line of JSON there for each task that did not succeed' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun verify unit check plan simulate lock none' -l set -d 'give a variable another value' -x
complete -c transfer-run -n '__transfer_run_is run rerun verify unit check plan simulate lock none' -l variables-file -d 'a YAML map of variables' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun verify unit check plan simulate lock none' -l secrets-file -d 'lines of `NAME=value` with secrets' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun verify unit check plan simulate lock none' -l directory -d 'the folder that relative paths start from, instead of the job file\'s' -x -a '(__fish_complete_directories)'
complete -c transfer-run -n '__transfer_run_is run plan simulate none' -l only -d 'run only tasks whose id matches, `*` for anything, and what they need' -x -a '(__transfer_run_tasks)'
complete -c transfer-run -n '__transfer_run_is run plan simulate none' -l except -d 'leave out tasks whose id matches; what needs them runs without them, unless it uses what they capture' -x -a '(__transfer_run_tasks)'
complete -c transfer-run -n '__transfer_run_is run rerun none' -l plan -d 'hold the servers to what they said when `plan --online --save FILE` asked them: what moved since is refused before anything is fetched' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun none' -l locked -d 'hold each download to the job\'s lock (`transfer-run lock JOB`): other bytes or another final URL are refused before they are in place'
complete -c transfer-run -n '__transfer_run_is run rerun plan simulate lock none' -l max-concurrent -d 'at most so many tasks at a time, over `limits.maximumConcurrentTasks`' -x
complete -c transfer-run -n '__transfer_run_is run rerun plan simulate lock none' -l bandwidth -d 'a rate for the whole run, such as `10MiB/s`, over `limits.bandwidth`' -x
complete -c transfer-run -n '__transfer_run_is run rerun simulate none' -l fail-fast -d 'the first failure cancels the rest'
complete -c transfer-run -n '__transfer_run_is run rerun none' -l exit-unchanged -d 'end with 9 when nothing changed'
complete -c transfer-run -n '__transfer_run_is run rerun verify plan lock attach reset status daemon suspend resume cancel none' -l state-dir -d 'keep state, cache and sockets under this folder' -x -a '(__fish_complete_directories)'
complete -c transfer-run -n '__transfer_run_is run rerun none' -l no-wait -d 'put off to the next run what a network, power, a window or `earliestBegin` holds back, and end with 75; what is in a background session goes on by itself'
complete -c transfer-run -n '__transfer_run_is run rerun none' -l detach -d 'hand background sessions over and return'
complete -c transfer-run -n '__transfer_run_is run rerun none' -l new-run -d 'do not come back to an earlier run of a background session'
complete -c transfer-run -n '__transfer_run_is run rerun status none' -l network -d 'take this instead of what the system says: `wired`, `wifi`, `cellular` or `none`, then `,metered` and `,constrained` as it is' -x
complete -c transfer-run -n '__transfer_run_is run rerun check plan none' -l confine -d 'for job files that are not trusted: nothing is read or written outside this folder, no command runs, no variable of the environment is read; `best-effort` beside it goes on where the kernel lacks a means' -x -a '(__fish_complete_directories)'
complete -c transfer-run -n '__transfer_run_is run rerun check plan none' -l allow-env -d 'let a confined job read this variable' -x
complete -c transfer-run -n '__transfer_run_is run rerun check plan none' -l allow-address -d 'let a confined job connect to these addresses' -x
complete -c transfer-run -n '__transfer_run_is run rerun check plan none' -l policy -d 'an operator\'s rules, which win over the job\'s and the command line\'s' -r -F
complete -c transfer-run -n '__transfer_run_is run rerun attach none' -l progress -d 'what to show while it runs: bars where standard error is a terminal, else lines' -x -a 'auto bar plain none'
complete -c transfer-run -n '__transfer_run_is run rerun check plan simulate lock attach none' -l color -d 'colour on standard error' -x -a 'auto always never'
complete -c transfer-run -n '__transfer_run_is run rerun attach status plan none' -l verbose -s v -d 'show each attempt, redirect and wait as well; `status`: networks and power, too, and of one run every task; `plan`: every task'
complete -c transfer-run -n '__transfer_run_is run rerun attach none' -l quiet -s q -d 'show the summary only'
complete -c transfer-run -n '__transfer_run_is check' -l format -d 'how diagnostics are written' -x -a 'text json github'
complete -c transfer-run -n '__transfer_run_is check' -l explain-access -d 'list everything that the job may run, read, write, remove and ask, each with its place in the file'
complete -c transfer-run -n '__transfer_run_is plan' -l online -d 'ask the servers for sizes and changes, without fetching anything: bytes, disk space and least time are then known'
complete -c transfer-run -n '__transfer_run_is plan' -l save -d 'write what the servers say there (`--online`), for `run --plan FILE`' -r -F
complete -c transfer-run -n '__transfer_run_is plan simulate status verify' -l json -d 'print JSON; `simulate`: the report that such a run would write'
complete -c transfer-run -n '__transfer_run_is verify' -l repair -d 'fetch again what is missing or differs from a report, a lock or, with `--from`, a list'
complete -c transfer-run -n '__transfer_run_is simulate' -l model -d 'a YAML file that says what each host is like' -r -F
complete -c transfer-run -n '__transfer_run_is simulate verify' -l from -d '`simulate`: the report of an earlier run, in which the hosts are measured; `verify`: the URL below which the files of a list are, for `--repair`' -x -a '(__transfer_run_files .json)'
complete -c transfer-run -n '__transfer_run_is simulate' -l seed -d 'the seed of all chances, 1 by default: the same seed gives the same result' -x
complete -c transfer-run -n '__transfer_run_is lock' -l update -d 'lock only these tasks anew, ids or patterns; the others stay as they are' -x -a '(__transfer_run_tasks)'
complete -c transfer-run -n '__transfer_run_is simulate' -l sweep -d 'vary a setting, such as `sessions.default.maximumConnectionsPerHost=2,4,8` or `limits.bandwidth=1MiB/s,10MiB/s`' -x
complete -c transfer-run -n '__transfer_run_is rerun' -l failed -d 'the tasks that did not succeed, as without any choice'
complete -c transfer-run -n '__transfer_run_is rerun' -l changed -d 'the tasks whose file changed in that run'
complete -c transfer-run -n '__transfer_run_is rerun' -l all -d 'every task of the report'
complete -c transfer-run -n '__transfer_run_is rerun' -l task -d 'this task of the report' -x -a '(__transfer_run_reported)'
complete -c transfer-run -n '__transfer_run_is unit' -l calendar -d 'when the timer starts the job, as systemd\'s `OnCalendar` takes it; otherwise daily' -x
complete -c transfer-run -n '__transfer_run_is unit' -l randomized-delay -d 'spread the timer\'s start over this time, such as `15m`, so that many machines do not ask at once' -x
complete -c transfer-run -n '__transfer_run_is unit' -l on-failure -d 'the unit that systemd starts when the job fails, such as `alert@%n.service`' -x
complete -c transfer-run -n '__transfer_run_is unit' -l user -d 'run the service as this user instead of root; for units that root writes' -x
complete -c transfer-run -n '__transfer_run_is unit' -l dynamic-user -d 'run the service as a user that exists only while it runs, instead of root: what the job writes is below /var/lib/transfer-run-JOB-files'
complete -c transfer-run -n '__transfer_run_is unit' -l install -d 'write the units into ~/.config/systemd/user, or as root into /etc/systemd/system, and say how to enable them'
complete -c transfer-run -n '__transfer_run_is status' -l watch -d 'show it again whenever it has changed'
complete -c transfer-run -n '__transfer_run_is init report' -l output -s o -d 'where `init` writes the job, otherwise `transfer.yaml`, and `report merge` the report, otherwise standard output; `-` is standard output' -r -F
complete -c transfer-run -n '__transfer_run_is report' -l fail-on -d 'end with 1 where `report diff` finds this: `failed`, `slower`, `larger`, `smaller`, `redirected`, `certificate`, `missing`, `added` or `any`' -x
complete -c transfer-run -n '__transfer_run_is cancel' -l resumable -d 'keep half-done files'
complete -c transfer-run -n '__transfer_run_is run check init import unit plan simulate lock rerun report explain verify status attach suspend resume cancel reset daemon schema completions help none' -l help -s h -d 'print help and end'
complete -c transfer-run -n '__transfer_run_is run check init import unit plan simulate lock rerun report explain verify status attach suspend resume cancel reset daemon schema completions help none' -l version -d 'print the versions of transfer-run and its libraries and end'
