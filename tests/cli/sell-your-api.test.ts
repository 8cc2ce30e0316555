import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { curlRequest, shellWords } from '../http/openapi/shell-words'
import { openHarness } from '../support/harness'
import { openOperatorConsole } from '../support/operator-console'
import { reconcile } from '../support/reconcile'
import { freePort } from '../support/servers/free-port'
import { until } from '../support/until'

/** The blocks of the page in their order: files to write, and lines to run. */
interface Block {
  readonly language: string
  readonly file: string | null
  readonly text: string
}

let folder: string
let page: readonly Block[]
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-sell-'))
  const port = await freePort()
  const text = (await readFile(join(import.meta.dir, '../../docs/sell-your-api.md'), 'utf8')).replaceAll(
    '4010',
    `${port}`,
  )
  page = [...text.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(([, language = '', file, block = '']) => ({
    language,
    file: file ?? null,
    text: block,
  }))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('the commands of docs/sell-your-api.md lead from an OpenAPI file to a paid call', async () => {
  for (const { file, text } of page) if (file !== null) await writeFile(join(folder, file), text)
  const commands = page.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.trim().split('\n'))
  const start = commands.find((command) => command.endsWith('bun run up')) ?? ''
  const env = Object.fromEntries(
    [...start.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name ?? '', value ?? '']),
  )
  const gateway = await openHarness({ env })
  const operatorConsole = openOperatorConsole(gateway)
  const upstream = Bun.spawn(['bun', join(folder, 'weather.ts')], { stdio: ['ignore', 'inherit', 'inherit'] })
  const account = await gateway.account(1)
  const { secret } = await gateway.key(account)
  const said = new Map<string, string>()
  try {
    await untilListening(page)
    for (const command of commands) said.set(command, await run(command))
  } finally {
    upstream.kill()
    await upstream.exited
    await operatorConsole.close()
    await gateway.close(true)
  }
  const outputs = (part: string) => [...said].filter(([command]) => command.includes(part)).map(([, output]) => output)
  const [dry = '', imported = ''] = outputs('api import weather.yaml --name weather --base')
  expect(dry).toContain('+ getForecast  GET /v1/forecast  0.01 USD per call')
  expect(dry).toContain('GET /v1/session: ')
  expect(dry).toContain('nothing was changed')
  expect(imported).not.toContain('nothing was changed')
  expect(outputs('api test').join()).toMatch(/^held usd +0\.01\ncost usd +0\.01$/m)
  expect(outputs('curl -H').join()).toBe('200 10000 {"data":[{"day":0,"celsius":20},{"day":1,"celsius":21}]}')
  expect(outputs('v1/catalog').join()).toContain('weather.getForecast')
  expect(outputs('api import weather.yaml --name weather --dry-run').join()).toContain('1 unchanged')
  expect(outputs('apply catalog.yaml').join('')).toBe('Nothing to change.\nNothing to change.\n')
  expect(outputs('api remove').join()).toBe('name  weather\n')
  const { problems } = await reconcile(gateway.databaseFile)
  expect(problems).toEqual([])
  await rm(gateway.folder, { recursive: true, force: true })

  async function run(command: string): Promise<string> {
    if (command === start || command === 'bun weather.ts') return ''
    if (command.startsWith('curl')) {
      const local = command.replace('http://localhost:3000', gateway.config.baseUrl)
      const answer = await gateway.gateway.fetch(curlRequest(local, { GATEWAY_API_KEY: secret }, ''))
      return `${answer.status} ${answer.headers.get('x-cost-micros-usd')} ${await answer.text()}`
    }
    const [line = '', target] = command.split(' > ')
    const words = shellWords(line, {}).map((word) => (/\.yaml$/.test(word) ? join(folder, word) : word))
    expect(words.slice(0, 4)).toEqual(['bun', 'run', 'gateway', 'operator'])
    const output = await operatorConsole.run(...words.slice(4))
    if (target !== undefined) await writeFile(join(folder, target), output)
    return output
  }
})

test('each price that the page shows sells calls at that price', async () => {
  const text = await readFile(join(import.meta.dir, '../../docs/sell-your-api.md'), 'utf8')
  const prices = [...text.matchAll(/[`'](\{"mode": .*?\})[`']/g)].flatMap(([, price = '']) =>
    price.includes('"paid"') ? [] : price,
  )
  const upstream = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => Response.json({ cost: 4, data: [{ celsius: 20 }, { celsius: 21 }] }),
  })
  const gateway = await openHarness({
    env: { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' },
  })
  const operatorConsole = openOperatorConsole(gateway)
  const account = await gateway.account(1)
  const { secret } = await gateway.key(account)
  const headers = { authorization: `Bearer ${secret}` }
  const charged: string[] = []
  try {
    const { text: document = '' } = page.find(({ file }) => file === 'weather.yaml') ?? {}
    await writeFile(join(folder, 'priced.yaml'), document)
    const base = `http://127.0.0.1:${upstream.port}`
    const imported = ['api', 'import', join(folder, 'priced.yaml'), '--name', 'priced', '--base', base]
    await operatorConsole.run(...imported, '--auth', 'none', '--price', '0.01')
    for (const price of prices) {
      await operatorConsole.run('api', 'set', 'priced.getForecast', '--price', price)
      const url = `${gateway.config.baseUrl}/apis/v1/priced/v1/forecast?city=Berlin&days=2`
      const quote = await gateway.gateway.fetch(new Request(url, { headers: { ...headers, 'x-cost-mode': 'quote' } }))
      const answer = await gateway.gateway.fetch(new Request(url, { headers }))
      charged.push(`${quote.status} ${answer.status} ${answer.headers.get('x-cost-micros-usd')}`)
    }
  } finally {
    await upstream.stop(true)
    await operatorConsole.close()
    await gateway.close(true)
  }
  expect(charged).toEqual(['200 200 4000', '200 200 10000', '200 200 1000', '200 200 48000'])
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
  await rm(gateway.folder, { recursive: true, force: true })
})

/** The upstream of the page is a program of its own: it is asked until it answers. */
async function untilListening(blocks: readonly Block[]): Promise<void> {
  const port = /port: (\d+)/.exec(blocks.find(({ file }) => file === 'weather.ts')?.text ?? '')?.[1]
  await until(() =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
  )
}

test('the lines of the README put its API on sale, and signup credit buys a call of it', async () => {
  const readme = await readFile(join(import.meta.dir, '../../README.md'), 'utf8')
  const port = `${await freePort()}`
  const section = readme
    .split('\n## Sell your own API in five minutes\n')[1]
    ?.split('\n## ')[0]
    ?.replaceAll('4010', port)
  const [files = '', start = '', sale = ''] = [...(section ?? '').matchAll(/```sh\n([\s\S]*?)```/g)].map(
    ([, lines = '']) => lines.replaceAll('\\\n', ''),
  )
  const cwd = await mkdtemp(join(folder, 'readme-'))
  await Bun.spawn(['sh', '-c', files.replace('bun weather.ts\n', '')], { cwd }).exited
  const env = Object.fromEntries([...start.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]))
  const gateway = await openHarness({ env })
  const operatorConsole = openOperatorConsole(gateway)
  const upstream = Bun.spawn(['bun', join(cwd, 'weather.ts')], { stdio: ['ignore', 'inherit', 'inherit'] })
  const said: string[] = []
  try {
    const { secret } = await (await (await gateway.owner()).api('/api/keys', { name: 'My second key' })).json()
    await untilListening([{ language: 'sh', file: 'weather.ts', text: files }])
    for (const line of sale.split('\n')) {
      const words = shellWords(line, { GATEWAY_API_KEY: secret })
      if (words[0] === 'bun')
        said.push(
          await operatorConsole.run(...words.slice(4).map((word) => word.replace(/^weather.yaml$/, `${cwd}/$&`))),
        )
      if (words[0] !== 'curl') continue
      const command = line.replace('curl -i', 'curl').replace('http://127.0.0.1:3000', gateway.config.baseUrl)
      const answer = await gateway.gateway.fetch(curlRequest(command, { GATEWAY_API_KEY: secret }, ''))
      said.push(`${answer.status} ${await answer.text()}`)
    }
  } finally {
    upstream.kill()
    await upstream.exited
    await operatorConsole.close()
    await gateway.close(true)
  }
  expect(said).toEqual([
    expect.stringContaining('+ getForecast  GET /v1/forecast  0.01 USD per call'),
    expect.stringContaining('{"celsius":21}'),
    expect.stringMatching(/weather +yes/),
    '200 {"celsius":21}',
  ])
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
  await rm(gateway.folder, { recursive: true, force: true })
})
