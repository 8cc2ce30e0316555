import { afterAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configCommand } from '../../server/cli/local/config-command'
import { readConfig } from '../../server/config'
import { ConfigError } from '../../server/config/config-error'

const FOLDER = mkdtempSync(join(tmpdir(), 'gateway-config-'))
afterAll(() => rmSync(FOLDER, { recursive: true }))
const SECRET_KEY = 'a secret that only tests know, 32 bytes and more'
const ADDRESS = `0x${'8'.repeat(40)}`

let files = 0
function file(text: string, mode = 0o600): string {
  const path = join(FOLDER, `file-${++files}`)
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}
const environment = (yaml: string, more: Record<string, string> = {}) => ({
  DATA_DIR: FOLDER,
  SECRET_KEY,
  CONFIG_FILE: file(yaml),
  ...more,
})
const config = (yaml: string, more: Record<string, string> = {}) => readConfig(environment(yaml, more), {})
const message = (read: () => unknown): string => {
  try {
    read()
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return String(error)
  }
  return 'no error'
}

describe('the configuration file', () => {
  test('has the same names and values as the environment, which wins', () => {
    const yaml = `
PORT: 4100
SANDBOX_MODELS: false
TRUSTED_PROXIES: [10.0.0.5, 10.1.0.0/16]
CORS_ORIGINS: [https://app.example.com]
WEBSEARCH_CACHE: { image-search: 300, llm-context: 60 }
PAYMENTS: evm
PAYMENTS_EVM_RPC_URL: https://node.example
PAYMENTS_EVM_CHAIN_ID: 8453
PAYMENTS_EVM_TOKEN: ${ADDRESS}
PAYMENTS_EVM_TOKEN_NAME: USD Coin
PAYMENTS_EVM_TOKEN_VERSION: 2
PAYMENTS_EVM_RECIPIENT: ${ADDRESS}
PAYMENTS_EVM_RELAYER_KEY: 0x${'7'.repeat(64)}
UPSTREAM_WALLET_KEY: 0x${'6'.repeat(64)}
UPSTREAM_WALLET_DAILY_USD: 1.5
UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: 0.5
UPSTREAM_WALLET_TOKENS:
  - { chain_id: 8453, token: ${ADDRESS}, name: USD Coin, version: "2", rpc_url: https://rpc.example.com }
`
    const variables = {
      PORT: '4100',
      SANDBOX_MODELS: 'false',
      TRUSTED_PROXIES: '10.0.0.5,10.1.0.0/16',
      CORS_ORIGINS: 'https://app.example.com',
      WEBSEARCH_CACHE: 'image-search=300,llm-context=60',
      PAYMENTS: 'evm',
      PAYMENTS_EVM_RPC_URL: 'https://node.example',
      PAYMENTS_EVM_CHAIN_ID: '8453',
      PAYMENTS_EVM_TOKEN: ADDRESS,
      PAYMENTS_EVM_TOKEN_NAME: 'USD Coin',
      PAYMENTS_EVM_TOKEN_VERSION: '2',
      PAYMENTS_EVM_RECIPIENT: ADDRESS,
      PAYMENTS_EVM_RELAYER_KEY: `0x${'7'.repeat(64)}`,
      UPSTREAM_WALLET_KEY: `0x${'6'.repeat(64)}`,
      UPSTREAM_WALLET_DAILY_USD: '1.5',
      UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: '0.5',
      UPSTREAM_WALLET_TOKENS: JSON.stringify([
        { chain_id: 8453, token: ADDRESS, name: 'USD Coin', version: '2', rpc_url: 'https://rpc.example.com' },
      ]),
    }
    const { models: fileModels, ...fromFile } = config(yaml)
    const { models, ...fromEnvironment } = readConfig({ DATA_DIR: FOLDER, SECRET_KEY, ...variables }, {})
    expect(fromFile).toEqual(fromEnvironment)
    expect(fileModels.sandbox).toBe(models.sandbox)
    expect(config(yaml, { PORT: '4200' }).port).toBe(4200)
    expect(config(yaml, { PORT: '' }).port).toBe(4100)
  })

  test('is gateway.yaml in the data folder, unless CONFIG_FILE names another', () => {
    const folder = mkdtempSync(join(FOLDER, 'data-'))
    const env = { DATA_DIR: folder, SECRET_KEY }
    expect(readConfig(env, {}).port).toBe(3000)
    writeFileSync(join(folder, 'gateway.yaml'), 'PORT: 4300\n')
    expect(readConfig(env, {}).port).toBe(4300)
    expect(readConfig({ ...env, CONFIG_FILE: file('# nothing is set here\n') }, {}).port).toBe(3000)
  })

  test.each([
    ['PROT: 3000', 'PROT is not a setting'],
    ['TRUSTED_PROXY: 10.0.0.1', 'Did you mean TRUSTED_PROXIES?'],
    ['port: 3000', 'port is not a setting. Did you mean PORT?'],
    ['OPENAI_API_KEY: hunter2', 'belongs under "secrets"'],
    ['DATA_DIR: /srv', 'DATA_DIR cannot be in the configuration file'],
    ['PORT_FILE: /srv/port', 'PORT_FILE is not a setting'],
    ['secrets:\n  PORT: 3000', /file-\d+:2: PORT is a setting/],
    ['secrets:\n  hunter-2: x', 'names under "secrets" must be'],
    ['- PORT', 'such as PORT: 3000'],
    ['PORT: 3000\nPORT: 4000', ':2:1 is not valid YAML'],
    ['STRIPE_SECRET_KEY: "hunter2', 'is not valid YAML'],
    ['hunter2 is no name: 1', 'this name is not a setting'],
    ['SECRET_KEY: x\nSECRET_KEY_FILE: /srv/key', 'SECRET_KEY and SECRET_KEY_FILE are both set'],
    ['SECRET_KEY_FILE: /nowhere/key', '/nowhere/key cannot be read: it does not exist'],
  ])('%j is refused with its place, and no value is repeated', (yaml, rule) => {
    const found = message(() => config(yaml))
    expect(found).toMatch(rule)
    expect(found).not.toContain('\n')
    expect(found).not.toContain('hunter2')
  })

  test('that is named but cannot be read is refused', () => {
    expect(message(() => readConfig({ SECRET_KEY, CONFIG_FILE: '/nowhere/gateway.yaml' }, {}))).toContain(
      'CONFIG_FILE=/nowhere/gateway.yaml cannot be read: it does not exist. Name a file such as CONFIG_FILE=/etc/gateway/gateway.yaml, or unset it',
    )
  })

  test('is refused with its path and the cure if it is a folder, wherever it is named', () => {
    expect(message(() => readConfig({ SECRET_KEY, CONFIG_FILE: FOLDER }, {}))).toContain(
      `CONFIG_FILE=${FOLDER} cannot be read: it is a folder. Name a file`,
    )
    const data = mkdtempSync(join(FOLDER, 'data-'))
    mkdirSync(join(data, 'gateway.yaml'))
    expect(message(() => readConfig({ SECRET_KEY, DATA_DIR: data }, {}))).toContain(
      `The configuration file ${data}/gateway.yaml cannot be read: it is a folder. Make it a file that this user may read, or remove it`,
    )
  })

  test('that never ends, that is nested without end, or that repeats itself by aliases is refused at once', () => {
    const named = (path: string) => message(() => readConfig({ SECRET_KEY, CONFIG_FILE: path }, {}))
    expect(named('/dev/zero')).toContain('/dev/zero is larger than 64 KB')
    expect(named(file(`PORT: ${'['.repeat(3_000)}`))).toContain('is not valid YAML')
    const laughs = Array.from({ length: 9 }, (_, i) => `&l${i + 1} [${`*l${i},`.repeat(9)}]`)
    expect(named(file(`PORT: [&l0 x, ${laughs.join(', ')}]`))).toContain('PORT must be a value, not an alias')
    expect(named(file('__proto__: { PORT: 1 }'))).toContain('__proto__ is not a setting')
    expect(config('secrets: { __proto__: x, constructor: y }').port).toBe(3000)
  })

  test('holds the secrets that models and APIs name, and warns while others may read them', () => {
    const key = file('sk-from-a-file\n')
    const yaml = `secrets:\n  OPENAI_API_KEY: sk-1\n  VENDOR_KEY_FILE: ${key}\n  UPSTREAM_WEATHER_KEY_FILE: ${key}\n`
    const { models, apis, warnings } = config(yaml)
    expect([models.keyOf('OPENAI_API_KEY'), models.keyOf('VENDOR_KEY')]).toEqual(['sk-1', 'sk-from-a-file'])
    expect(Object.fromEntries(apis.secrets)).toEqual({ UPSTREAM_WEATHER_KEY: 'sk-from-a-file' })
    expect(warnings).toEqual([])
    const paths = file(`METRICS_TOKEN_FILE: ${file('x'.repeat(32))}\nPORT: 4100\n`, 0o644)
    expect(readConfig({ SECRET_KEY, CONFIG_FILE: paths }, {}).warnings).toEqual([])
    const open = file(yaml, 0o644)
    expect(readConfig({ SECRET_KEY, CONFIG_FILE: open }, {}).warnings).toEqual([
      `${open} contains secrets, but other users may read it. Run: chmod o= ${open}`,
    ])
  })
})

describe('a secret in a file', () => {
  const read = (more: Record<string, string>) => readConfig({ DATA_DIR: FOLDER, SECRET_KEY, ...more }, {})

  test('loses one newline at its end and nothing else', () => {
    const { apis } = read({ UPSTREAM_KEY_FILE: file(' two lines\n\n') })
    expect(Object.fromEntries(apis.secrets)).toEqual({ UPSTREAM_KEY: ' two lines\n' })
    expect(readConfig({ SECRET_KEY_FILE: file(`${SECRET_KEY}\r\n`) }, {}).secretKey).toBe(SECRET_KEY)
  })

  test('may come from a pipe, and ends where a secret is too long', () => {
    const script = `import { readConfig } from '${join(import.meta.dir, '../../server/config')}'; console.log(readConfig({ SECRET_KEY_FILE: '/dev/stdin' }, {}).secretKey)`
    const { stdout } = Bun.spawnSync([process.execPath, '-e', script], { stdin: Buffer.from(`${SECRET_KEY}\n`) })
    expect(stdout.toString()).toBe(`${SECRET_KEY}\n`)
    expect(message(() => read({ METRICS_TOKEN_FILE: '/dev/zero' }))).toContain('larger than 64 KB')
  })

  test('from a pipe is read once by a start, also for PORT=0', () => {
    const server = join(import.meta.dir, '../../server/main.ts')
    const { stderr } = Bun.spawnSync(['sh', '-c', 'printf %s "$PIPED" | exec "$0" "$1"', process.execPath, server], {
      env: {
        PATH: process.env['PATH'],
        DATA_DIR: mkdtempSync(join(FOLDER, 'data-')),
        PORT: '0',
        PIPED: SECRET_KEY,
        // The start ends here, after it has read all settings.
        SECRET_KEY_FILE: '/dev/stdin',
        LOG_FILE: '/nowhere/gateway.log',
      },
    })
    expect(stderr.toString()).toStartWith(
      'gateway: LOG_FILE=/nowhere/gateway.log cannot be opened: its folder does not exist.',
    )
  })

  test('is refused together with the variable, when it is empty, and for a setting that is no secret', () => {
    expect(message(() => read({ SECRET_KEY_FILE: file(SECRET_KEY) }))).toContain('are both set. Remove one of them')
    expect(message(() => read({ METRICS_TOKEN_FILE: file('\n') }))).toContain('is empty')
    expect(message(() => read({ BASE_URL_FILE: file('x') }))).toContain('only secrets can be read from files')
    expect(message(() => read({ METRICS_TOKEN_FILE: FOLDER }))).toContain('cannot be read: it is a folder')
  })

  test('that other users may read gets a warning, which names the file and not the secret', () => {
    const path = file('x'.repeat(32), 0o644)
    expect(read({ METRICS_TOKEN_FILE: path }).warnings).toEqual([
      `METRICS_TOKEN_FILE: other users may read ${path}. Run: chmod o= ${path}`,
    ])
  })

  test('serves a model whose key_env names it, and files of other programs are not read', () => {
    const { models } = read({ VENDOR_KEY_FILE: file('sk-2\n'), SSL_KEY_FILE: '/nowhere/key.pem' })
    expect(models.keyOf('VENDOR_KEY')).toBe('sk-2')
    expect([models.keyOf('SSL_KEY'), models.keyOf('MODELS')]).toEqual([null, null])
  })
})

describe('gateway config', () => {
  const command = async (args: readonly string[], env: Record<string, string>) => {
    const written: string[] = []
    const out = (text: string) => void written.push(text)
    try {
      written.push(await configCommand(args, { env, out }))
    } catch (error) {
      written.push(`refused: ${error instanceof Error ? error.message : error}`)
    }
    return written.join('')
  }

  test('check says everything that is wrong, not only the first', async () => {
    const wrong = environment('ANON_RPM: 0\nLOG_LEVEL: loud\n', { STRIPE_SECRET_KEY: 'pk_live_hunter2' })
    const said = await command(['check'], wrong)
    expect(said).toContain('ANON_RPM must be an integer from 1 to 1000000, not "0"\n')
    expect(said).toContain('LOG_LEVEL must be one of debug, info, warn, error, not "loud"\n')
    expect(said).toContain('STRIPE_SECRET_KEY must be a secret or restricted key of Stripe')
    expect(said).toEndWith('refused: 3 problems in the settings')
    expect(said).not.toContain('hunter2')
    const report = JSON.parse((await command(['check', '--json'], wrong)).replace(/refused:.*$/, ''))
    expect([report.ok, report.problems.length, report.file]).toEqual([false, 3, wrong.CONFIG_FILE])
    const right = environment('ANON_RPM: 5\n')
    expect(await command(['check'], right)).toBe(`The settings are valid (environment and ${right.CONFIG_FILE}).\n`)
    expect(await command(['check'], { SECRET_KEY, MAIL_FROM: 'a@example.com' })).toContain('SMTP_URL is not set')
  })

  test('check names every unknown name of the file and the environment, with its line', async () => {
    const yaml = `PROT: 1\nLOG_LEVEL: loud\nhunter2: x\nsecrets:\n  PORT: 3000\n  hunter-2: x\nBASE_URL_FILE: /srv/url\n`
    const env = environment(yaml, { SEALING_KEY: 'x', TRUSTED_PROXY: '10.0.0.1' })
    const said = (await command(['check'], env)).replaceAll(env.CONFIG_FILE, 'FILE').split('\n')
    expect(said.map((line) => line.split(/(?<=^FILE:\d+:|must be| is not a setting)/)[0])).toEqual([
      ...['FILE:1:', 'FILE:3:', 'FILE:5:', 'FILE:6:', 'FILE:7:'],
      ...['SEALING_KEY is not a setting', 'TRUSTED_PROXY is not a setting', 'LOG_LEVEL must be'],
      'refused: 8 problems in the settings',
    ])
    expect(said.join('')).toContain('PROT is not a setting')
    expect(said.join('')).toContain('SEALING_KEY is not a setting. Did you mean SEALING_KEYS')
  })

  test('check does not miss the secret that the first start creates', async () => {
    const DATA_DIR = join(FOLDER, 'nothing-yet')
    expect(await command(['check'], { DATA_DIR })).toBe(
      `note: SECRET_KEY is not set: the first "up" creates it in ${DATA_DIR}/secret_key\nThe settings are valid.\n`,
    )
    expect(await command(['check'], { DATA_DIR, NODE_ENV: 'production' })).toContain('SEALING_KEYS is not set')
  })

  test('check reads MODELS_FILE, and says every mistake with its line', async () => {
    const models = (text: string) => {
      const path = `${file(text)}.json`
      writeFileSync(path, text)
      return {
        path,
        check: (more = {}) => command(['check'], { DATA_DIR: FOLDER, SECRET_KEY, MODELS_FILE: path, ...more }),
      }
    }
    const free = (id: string) =>
      `{"id": "${id}", "upstream": {"kind": "openai", "key_env": "VENDOR_KEY"}, "price": {"input": 0, "output": 0}}`
    const wrong = models(
      `{\n"models": [\n${free('a')},\n{"id": "b", "price": {"input": 1}},\n${free('a')}, {"id": 7}]}`,
    )
    const said = await wrong.check({ LOG_LEVEL: 'loud', VENDOR_KEY: 'x' })
    expect(said).toContain('LOG_LEVEL must be')
    expect(said).toMatch(new RegExp(`${wrong.path}:4: .*\n.*:5: the model a is listed twice\n.*:5: id must be`))
    expect(said).toEndWith('refused: 4 problems in the settings')
    const broken = models('{\n"models": [\n  {"id": "a",}\n]}')
    expect(await broken.check()).toContain(`MODELS_FILE: ${broken.path}:3 is not JSON`)
    expect(await models('[]').check()).toContain('must contain {"models": [...]}')
    const right = models(`{"models": [${free('a')}]}`)
    expect(await right.check()).toStartWith('warning: VENDOR_KEY is not set, but')
    expect(await right.check({ VENDOR_KEY: ' ' })).toContain('VENDOR_KEY is empty, but')
    expect(await right.check({ VENDOR_KEY: 'sk-1' })).toBe('The settings are valid.\n')
  })

  test('print shows each value with its source, and no secret', async () => {
    const token = file(`${'t'.repeat(32)}\n`)
    const env = environment('PORT: 4400\nBRAVE_API_KEY: BSA-hunter2\n', {
      METRICS_TOKEN_FILE: token,
      LOG_LEVEL: 'warn',
    })
    const rows = JSON.parse(await command(['print', '--json'], env))
    expect(rows).toContainEqual({ name: 'PORT', value: '4400', from: `${env.CONFIG_FILE}:1` })
    expect(rows).toContainEqual({ name: 'BRAVE_API_KEY', value: '(secret)', from: `${env.CONFIG_FILE}:2` })
    expect(rows).toContainEqual({ name: 'LOG_LEVEL', value: 'warn', from: 'environment' })
    expect(rows).toContainEqual({
      name: 'METRICS_TOKEN',
      value: '(secret)',
      from: `${token}, named by METRICS_TOKEN_FILE (environment)`,
    })
    const all = await command(['print', '--all'], env)
    expect(all).toMatch(/^ANON_RPM +60 +default$/m)
    expect(all).toMatch(/^SECRET_KEY +\(secret\) +environment$/m)
    for (const secret of ['hunter2', 'ttttt', SECRET_KEY]) expect(all).not.toContain(secret)
  })

  test('schema prints the JSON Schema, and other words are wrong usage', async () => {
    expect(JSON.parse(await command(['schema'], {})).properties.PORT.default).toBe(3000)
    expect(await command(['chek'], {})).toBe('refused: unknown config command "chek"; see --help')
  })
})
