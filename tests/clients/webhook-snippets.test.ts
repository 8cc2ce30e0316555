import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWebhookSender } from '../../server/adapters/webhooks/send-webhook'
import type { OutboundRequest } from '../../server/core/outbound/outbound-fetch'
import { err } from '../../server/core/result'

const DOCS = join(import.meta.dir, '..', '..', 'docs', 'webhooks.md')
const SECRET = `whsec_${Buffer.from('a secret that only tests know...').toString('base64')}`
const PREVIOUS = `whsec_${Buffer.from('the secret before the rotation..').toString('base64')}`
const BODY = '{"type":"webhook.test","data":{"name":"Zoë"}}'

/** How long a first build may take on a busy machine. */
const BUILD_MS = 300_000

interface Language {
  readonly name: string
  readonly build?: readonly string[]
  readonly command: readonly string[]
  readonly file: string
  readonly around: Readonly<Record<string, string>>
}

/** A program around the snippet: reads a list of `[secret, headers, body]` from its input and prints of each whether it verifies. */
const ALL_LANGUAGES: readonly Language[] = [
  {
    name: 'ts',
    command: ['bun', 'main.ts'],
    file: 'verify.ts',
    around: {
      'main.ts': `import { verify } from './verify'
        for (const [secret, headers, body] of await Bun.stdin.json())
          console.log(verify(secret, new Headers(headers), body))`,
    },
  },
  {
    name: 'python',
    command: ['python3', 'main.py'],
    file: 'verify.py',
    around: {
      'main.py': `import json, sys
from verify import verify
for secret, headers, body in json.load(sys.stdin):
    print(str(verify(secret, headers, body.encode())).lower())`,
    },
  },
  {
    name: 'go',
    // Without the compiler's optimizations: a machine that never built `net/http` does it here.
    build: ['go', 'build', '-gcflags=all=-N -l', '-o', 'verify', 'verify.go', 'main.go'],
    command: ['./verify'],
    file: 'verify.go',
    around: {
      'main.go': `package main
import ("encoding/json"; "fmt"; "net/http"; "os")
func main() {
	var inputs [][]json.RawMessage
	json.NewDecoder(os.Stdin).Decode(&inputs)
	for _, input := range inputs {
		var secret, body string
		var given map[string]string
		json.Unmarshal(input[0], &secret); json.Unmarshal(input[1], &given); json.Unmarshal(input[2], &body)
		headers := http.Header{}
		for name, value := range given { headers.Set(name, value) }
		fmt.Println(verify(secret, headers, []byte(body)))
	}
}`,
    },
  },
]
const LANGUAGES = ALL_LANGUAGES.filter(({ build, command }) => Bun.which((build ?? command)[0] ?? '') !== null)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'snippets-'))
  const docs = await Bun.file(DOCS).text()
  for (const { name, file, around } of LANGUAGES) {
    const [, snippet] = new RegExp(`\`\`\`${name}\\n([^]*?)\`\`\``).exec(docs) ?? []
    if (snippet === undefined) throw new Error(`${DOCS} has no ${name}`)
    await Bun.write(join(folder, name, file), snippet)
    for (const [path, text] of Object.entries(around)) await Bun.write(join(folder, name, path), text)
  }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The headers that the gateway sends now, signed by both secrets. */
async function sentHeaders(at = Date.now()): Promise<Record<string, string>> {
  let sent: OutboundRequest | null = null
  const send = openWebhookSender(async (request) => {
    sent = request
    return err({ kind: 'unreachable', reason: 'only the headers are wanted' })
  })
  const { signal } = new AbortController()
  await send({ url: 'https://a.example', eventId: 'evt_1', at, body: BODY, secrets: [SECRET, PREVIOUS], signal })
  return { ...(sent as OutboundRequest | null)?.headers }
}

describe('the verification in docs/webhooks.md', () => {
  test.each(LANGUAGES.map(({ name, command, build }) => [name, command, build] as const))(
    'in %s takes what the gateway sends and refuses what was changed',
    async (name, command, build) => {
      if (build) expect(await Bun.spawn([...build], { cwd: join(folder, name) }).exited).toBe(0)
      const headers = await sentHeaders()
      const cases = [
        [SECRET, headers, BODY],
        [PREVIOUS, headers, BODY],
        [SECRET, headers, `${BODY} `],
        [SECRET, { ...headers, 'webhook-id': 'evt_2' }, BODY],
        [SECRET, await sentHeaders(Date.now() - 400_000), BODY],
      ]
      const input = new Blob([JSON.stringify(cases)])
      const ran = Bun.spawn([...command], { cwd: join(folder, name), stdin: input, stdout: 'pipe' })
      const verified = (await new Response(ran.stdout).text()).trim().split(/\s+/)
      expect(verified).toEqual(['true', 'true', 'false', 'false', 'false'])
    },
    BUILD_MS,
  )
})
