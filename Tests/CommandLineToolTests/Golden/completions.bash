# bash completion for transfer-run. Written by `transfer-run completions bash`, from the program's own tables.
# Use it: source <(transfer-run completions bash)

_transfer_run_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

_transfer_run_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -f -X "!$1" -- "$cur" | while IFS= read -r name; do
        [[ -d $name ]] || printf '%s\n' "$name"; done)
}

# Names that only the program knows, one a line.
_transfer_run_ask() {
    local names
    names=$("${COMP_WORDS[0]}" completions "$@" 2>/dev/null </dev/null) || return 0
    mapfile -t COMPREPLY < <(IFS=$'\n'; compgen -W "$names" -- "$cur")
}

_transfer_run_value() {
    case $1 in
        file) _transfer_run_files '*' ;;
        folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
        job) _transfer_run_files '*.@(yaml|yml)' ;;
        report) _transfer_run_files '*.json' ;;
        session) _transfer_run_ask sessions ;;
        task)
            case $command in
                rerun|explain) [[ ${operands[0]} ]] && _transfer_run_ask reported "${operands[0]}" ;;
                *) [[ ${operands[0]} ]] && _transfer_run_ask tasks "${operands[@]}" ;;
            esac ;;
        command) _transfer_run_words 'run check init import unit plan simulate lock rerun report explain verify status attach suspend resume cancel reset daemon schema completions help' ;;
    esac
}

_transfer_run() {
    local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= index word
    local -a operands=()
    local glob=$(shopt -p extglob)
    shopt -s extglob
    COMPREPLY=()
    for ((index = 1; index < ${#COMP_WORDS[@]}; index++)); do
        ((index == COMP_CWORD)) && continue
        word=${COMP_WORDS[index]}
        case $word in
            --report|--events|--junit|--html|--har|--trace|--otlp|--prometheus|--markdown|--failed-list|--set|--variables-file|--secrets-file|--directory|--only|--except|--plan|--max-concurrent|--bandwidth|--state-dir|--network|--confine|--allow-env|--allow-address|--policy|--progress|--color|--format|--save|--model|--from|--seed|--update|--sweep|--task|--calendar|--randomized-delay|--on-failure|--user|--output|--fail-on)
                ((index++)) ;;
            -*) ;;
            *) if [[ ! $command && ${#operands[@]} -eq 0 ]]; then
                   case $word in
                       run|check|init|import|unit|plan|simulate|lock|rerun|report|explain|verify|status|attach|suspend|resume|cancel|reset|daemon|schema|completions|help) command=$word; continue ;;
                   esac
               fi
               ((index < COMP_CWORD || ${#operands[@]} == 0)) && operands+=("$word") ;;
        esac
    done
    case $previous in
        --progress) _transfer_run_words 'auto bar plain none' ;;
        --color) _transfer_run_words 'auto always never' ;;
        --format) _transfer_run_words 'text json github' ;;
        --report|--events|--junit|--html|--har|--trace|--otlp|--prometheus|--markdown|--failed-list|--variables-file|--secrets-file|--plan|--policy|--save|--model|--output) _transfer_run_value file ;;
        --directory|--state-dir|--confine) _transfer_run_value folder ;;
        --from) _transfer_run_value report ;;
        --only|--except|--update|--task) _transfer_run_value task ;;
        --set|--max-concurrent|--bandwidth|--network|--allow-env|--allow-address|--seed|--sweep|--calendar|--randomized-delay|--on-failure|--user|--fail-on) ;;
        *)
            if [[ $cur == -* ]]; then
                case ${command:-run} in
                    run) _transfer_run_words '--report --no-report --events --junit --html --har --trace --otlp --prometheus --markdown --failed-list --set --variables-file --secrets-file --directory --only --except --plan --locked --max-concurrent --bandwidth --fail-fast --exit-unchanged --state-dir --no-wait --detach --new-run --network --confine --allow-env --allow-address --policy --progress --color --verbose --quiet --help --version' ;;
                    check) _transfer_run_words '--set --variables-file --secrets-file --directory --confine --allow-env --allow-address --policy --color --format --explain-access --help --version' ;;
                    init) _transfer_run_words '--output --help --version' ;;
                    import) _transfer_run_words '--help --version' ;;
                    unit) _transfer_run_words '--set --variables-file --secrets-file --directory --calendar --randomized-delay --on-failure --user --dynamic-user --install --help --version' ;;
                    plan) _transfer_run_words '--set --variables-file --secrets-file --directory --only --except --max-concurrent --bandwidth --state-dir --confine --allow-env --allow-address --policy --color --verbose --online --save --json --help --version' ;;
                    simulate) _transfer_run_words '--html --set --variables-file --secrets-file --directory --only --except --max-concurrent --bandwidth --fail-fast --color --json --model --from --seed --sweep --help --version' ;;
                    lock) _transfer_run_words '--set --variables-file --secrets-file --directory --max-concurrent --bandwidth --state-dir --color --update --help --version' ;;
                    rerun) _transfer_run_words '--report --no-report --events --junit --html --har --trace --otlp --prometheus --markdown --failed-list --set --variables-file --secrets-file --directory --plan --locked --max-concurrent --bandwidth --fail-fast --exit-unchanged --state-dir --no-wait --detach --new-run --network --confine --allow-env --allow-address --policy --progress --color --verbose --quiet --failed --changed --all --task --help --version' ;;
                    report) _transfer_run_words '--junit --html --har --trace --otlp --prometheus --markdown --failed-list --output --fail-on --help --version' ;;
                    explain) _transfer_run_words '--help --version' ;;
                    verify) _transfer_run_words '--set --variables-file --secrets-file --directory --state-dir --json --repair --from --help --version' ;;
                    status) _transfer_run_words '--state-dir --network --verbose --json --watch --help --version' ;;
                    attach) _transfer_run_words '--report --no-report --events --junit --html --har --trace --otlp --prometheus --markdown --failed-list --state-dir --progress --color --verbose --quiet --help --version' ;;
                    suspend) _transfer_run_words '--state-dir --help --version' ;;
                    resume) _transfer_run_words '--state-dir --help --version' ;;
                    cancel) _transfer_run_words '--state-dir --resumable --help --version' ;;
                    reset) _transfer_run_words '--state-dir --help --version' ;;
                    daemon) _transfer_run_words '--state-dir --help --version' ;;
                    schema) _transfer_run_words '--help --version' ;;
                    completions) _transfer_run_words '--help --version' ;;
                    help) _transfer_run_words '--help --version' ;;
                esac
            elif [[ ! $command && ${#operands[@]} -eq 0 ]]; then
                _transfer_run_files '*.@(yaml|yml)'
                mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W 'run check init import unit plan simulate lock rerun report explain verify status attach suspend resume cancel reset daemon schema completions help' -- "$cur")
            else
                case ${command:-run}:$((${#operands[@]} > 0)) in
                    run:0) _transfer_run_value job ;;
                    run:1) _transfer_run_value job ;;
                    check:0) _transfer_run_value job ;;
                    check:1) _transfer_run_value job ;;
                    import:0) _transfer_run_value file ;;
                    import:1) _transfer_run_value file ;;
                    unit:0) _transfer_run_value job ;;
                    plan:0) _transfer_run_value job ;;
                    plan:1) _transfer_run_value job ;;
                    simulate:0) _transfer_run_value job ;;
                    simulate:1) _transfer_run_value job ;;
                    lock:0) _transfer_run_value job ;;
                    rerun:0) _transfer_run_value report ;;
                    report:0) _transfer_run_words 'convert diff merge' ;;
                    report:1) _transfer_run_value report ;;
                    explain:0) _transfer_run_value report ;;
                    explain:1) _transfer_run_value task ;;
                    verify:0) _transfer_run_value file ;;
                    status:0) _transfer_run_value session ;;
                    attach:0) _transfer_run_value session ;;
                    suspend:0) _transfer_run_value session ;;
                    resume:0) _transfer_run_value session ;;
                    cancel:0) _transfer_run_value session ;;
                    completions:0) _transfer_run_words 'bash zsh fish' ;;
                    help:0) _transfer_run_value command ;;
                esac
            fi ;;
    esac
    eval "$glob"
}

complete -F _transfer_run transfer-run
