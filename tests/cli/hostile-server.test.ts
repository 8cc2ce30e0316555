import { describe, expect, test } from 'bun:test'
import { COMMANDS } from '../../server/cli/commands'
import { run } from '../../server/cli/run'
import { table } from '../../server/cli/table'
import { browserCommand, type Terminal } from '../../server/cli/terminal'

/** Writes to the clipboard, clears the screen, overwrites the line, turns the direction of writing, hides a word, C1's own CSI. */
const ATTACK = '\x1b]52;c;cm0gLXJm\x07\x1b[2J\r\u202Eevil\u202C\u200bhid\u{e0041}den\x9b31mred\x00\x7f'
const HIDDEN = /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?![\n\t])\p{Cc}/u

/** Runs one command against a server that answers everything with `answer`. */
async function runAgainst(answer: () => Response, ...args: string[]) {
  const printed = { out: '', err: '' }
  const terminal: Terminal = {
    env: { GATEWAY_API_KEY: 'gwk_test', GATEWAY_URL: 'http://localhost:1', HOME: '/nonexistent' },
    fetch: async () => answer(),
    now: () => 0,
    sleep: async () => undefined,
    random: () => 0,
    out: (text) => {
      printed.out += text
    },
    err: (text) => {
      printed.err += text
    },
    isInteractive: true,
    openBrowser: async () => false,
    input: async () => null,
  }
  const code = await run(COMMANDS, args, terminal)
  return { code, ...printed }
}

const models = { data: [{ id: `m${ATTACK}`, owned_by: ATTACK, recharge_required: false }] }

describe('text from a hostile server', () => {
  test('reaches the terminal only as text: names in a table', async () => {
    const { code, out } = await runAgainst(() => Response.json(models), 'models')
    expect(code).toBe(0)
    expect(out).toContain(']52;c;cm0gLXJm[2Jevilhidden31mred')
    expect(out).not.toMatch(HIDDEN)
  })

  test('reaches the terminal only as text: a streamed answer of a model', async () => {
    const event = JSON.stringify({ choices: [{ delta: { content: `${ATTACK}\n\ttabs and lines stay` } }] })
    const stream = () =>
      new Response(`data: ${event}\n\ndata: [DONE]\n\n`, { headers: { 'content-type': 'text/event-stream' } })
    const { out } = await runAgainst(stream, 'chat', 'hello', '--model', 'm')
    expect(out).toContain('\n\ttabs and lines stay')
    expect(out).not.toMatch(HIDDEN)
  })

  test('reaches the terminal only as text: an error message, and an answer that breaks the command', async () => {
    const refusal = () => Response.json({ error: { code: ATTACK, message: ATTACK } }, { status: 400 })
    for (const answer of [refusal, () => new Response(ATTACK), () => Response.json({ data: ATTACK })]) {
      const { code, err } = await runAgainst(answer, 'models')
      expect(code).toBe(1)
      expect(err).toStartWith('gateway: ')
      expect(err).not.toMatch(HIDDEN)
    }
  })

  test('is complete in --json, escaped', async () => {
    const { out } = await runAgainst(() => Response.json(models), 'models', '--json')
    expect(out).not.toMatch(HIDDEN)
    expect(JSON.parse(out)).toEqual(models)
  })

  test('forges no row of a table', () => {
    const forged = table(['NAME', 'BY'], [['mine\n\rforged', 'x']])
    expect(forged).toBe('NAME         BY\nmine forged  x\n')
  })
})

describe('the address that a browser opens', () => {
  test.each(['darwin', 'linux', 'win32'])('is passed without a shell on %s', (platform) => {
    const command = browserCommand(platform, 'https://evil.example/a?b=1&calc.exe')
    expect(command?.at(-1)).toBe('https://evil.example/a?b=1&calc.exe')
    expect(command?.[0]).not.toMatch(/cmd|sh$|powershell/)
  })

  test.each(['file:///etc/passwd', 'javascript:alert(1)', 'ms-msdt:/id', 'C:\\Windows\\calc.exe', 'not an address'])(
    'is http or https, never %s',
    (url) => {
      for (const platform of ['darwin', 'linux', 'win32']) expect(browserCommand(platform, url)).toBeNull()
    },
  )
})
