import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMMANDS } from '../../server/cli/commands'
import { run } from '../../server/cli/run'
import { REAL_TERMINAL } from '../../server/cli/terminal'

let folder: string
const scripts = new Map<string, string>()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-completion-'))
  for (const shell of ['bash', 'zsh', 'fish']) {
    let script = ''
    const out = (text: string) => {
      script += text
    }
    expect(await run(COMMANDS, ['completion', shell], { ...REAL_TERMINAL, out })).toBe(0)
    const file = join(folder, `gateway.${shell}`)
    await writeFile(file, script)
    scripts.set(shell, file)
  }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function said(words: readonly string[], input = ''): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync([...words], {
    stdin: Buffer.from(input),
    // A shell that never answers must not stop the whole run.
    timeout: 60_000,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, TERM: 'dumb' },
  })
  expect([exitCode, stderr.toString()]).toEqual([0, ''])
  return stdout.toString().trim()
}

/** The typed text, and the shell's offers for it. */
const OFFERED: readonly (readonly [string, readonly string[]])[] = [
  ['gateway ke', ['keys']],
  ['gateway log', ['login', 'logout']],
  ['gateway keys ro', ['rotate']],
  ['gateway mcp cl', ['claude-code', 'claude-desktop']],
  ['gateway topup --m', ['--method']],
]

describe('bash completes', () => {
  test.each(OFFERED)('%s', (typed, offered) => {
    const words = typed.split(' ')
    const script = `source ${scripts.get('bash')}; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _gateway; echo "\${COMPREPLY[@]}"`
    expect(said(['bash', '--norc', '-c', script]).split(' ')).toEqual([...offered])
  })
})

/** A shell that is not installed is no fault of the gateway: skipped, and counted as skipped. */
describe.skipIf(!Bun.which('fish'))('fish completes', () => {
  test.each(OFFERED)('%s', (typed, offered) => {
    const lines = said(['fish', '--no-config', '-c', `source ${scripts.get('fish')}; complete -C "${typed}"`]).split(
      '\n',
    )
    expect(lines.map((line) => line.split('\t')[0] ?? '')).toEqual([...offered])
  })
})

describe.skipIf(!Bun.which('zsh'))('zsh completes, at a terminal', () => {
  /** Types into an interactive shell, presses Tab, and reads the line as it then stands. */
  const typedLine = (typed: string) =>
    said(
      ['zsh', '-f'],
      `zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell 'PROMPT= RPROMPT=; unsetopt zle_bracketed_paste; autoload -U compinit && compinit -u -D; source ${scripts.get('zsh')}; told() { print -r -- "LINE=<$BUFFER>" }; zle -N told; bindkey "^T" told; print READY''!'
zpty -r shell ignored '*READY!*'
zpty -w -n shell $'${typed}\\t\\x14'
zpty -r shell line '*LINE=<*>*'
print -r -- "\${\${line##*LINE=<}%%>*}"
zpty -d shell
`,
    )

  test.each([
    ['gateway ke', 'gateway keys'],
    ['gateway keys ro', 'gateway keys rotate'],
    ['gateway topup --m', 'gateway topup --method'],
    // Two begin alike: what they share.
    ['gateway mcp cl', 'gateway mcp claude-'],
  ])('%s', (typed, whole) => {
    expect(typedLine(typed).trimEnd()).toBe(whole)
  })
})
