import { type Command, words } from '../command'
import { UsageError } from '../control-client'

/** Takes the commands as a function, because the list of commands contains this one. */
export function completion(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'print a completion script for your shell',
    usage: `bash|zsh|fish

  bash   eval "$(gateway completion bash)"
  zsh    eval "$(gateway completion zsh)"
  fish   gateway completion fish | source
`,
    words: ['bash', 'zsh', 'fish'],
    async run(args, terminal) {
      const { shell } = words('completion', args, ['shell'])
      const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell as keyof typeof SHELLS] : null
      if (!write) throw new UsageError(`"completion" takes bash, zsh or fish, not "${shell}"`)
      terminal.out(write(commands()))
    },
  }
}

const SHELLS = {
  bash: (commands: readonly Command[]) => `_gateway() {
  local words="${commands.map(({ name }) => name).join(' ')}"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "\${COMP_WORDS[1]}" in
${commands.map(({ name, words: follow = [] }) => `      ${name}) words="${follow.join(' ')} --help --json" ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _gateway gateway
`,
  zsh: (commands: readonly Command[]) => `autoload -U +X bashcompinit && bashcompinit
${SHELLS.bash(commands)}`,
  fish: (commands: readonly Command[]): string =>
    commands
      .flatMap(({ name, summary, words: follow = [] }) => [
        `complete -c gateway -f -n __fish_use_subcommand -a ${name} -d "${summary.replaceAll('"', "'")}"`,
        ...follow.map((word) => `complete -c gateway -f -n "__fish_seen_subcommand_from ${name}" -a "${word}"`),
      ])
      .join('\n')
      .concat('\n'),
}
