import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../server/config'
import { ALL_SETTINGS } from '../../server/config/schema/all-settings'
import { freePort, listen, openPort } from '../../server/listen'
import { LogOutput, logFileProblem } from '../../server/log'
import { secureFolder } from '../../server/setup/secure-folder'
import { openHarness } from '../support/harness'

const FOLDER = mkdtempSync(join(tmpdir(), 'gateway-refusals-'))
afterAll(() => rmSync(FOLDER, { recursive: true }))
const SECRET_KEY = 'a secret that only tests know, 32 bytes and more'
const STRIPE = { STRIPE_SECRET_KEY: `sk_test_${'a'.repeat(24)}`, STRIPE_WEBHOOK_SECRET: `whsec_${'a'.repeat(32)}` }
const PRODUCTION = { NODE_ENV: 'production', SEALING_KEYS: `k1:${'A'.repeat(43)}=` }

/** The one line of a failure. */
async function lineOf(attempt: () => unknown): Promise<string> {
  try {
    await attempt()
  } catch (error) {
    const line = error instanceof Error ? error.message : String(error)
    expect(line).not.toContain('\n')
    expect(line.length).toBeLessThan(400)
    return line
  }
  return 'not refused'
}
const refusal = (environment: Record<string, string>) =>
  lineOf(() => readConfig({ DATA_DIR: FOLDER, SECRET_KEY, ...environment }, {}))

/** Each line: the settings, the name that the message must have, and the example that it must give. */
const REFUSED: readonly (readonly [Record<string, string>, name: string, example: string])[] = [
  [{ ...STRIPE, STRIPE_SECRET_KEY: 'pk_live_hunter2hunter2' }, 'STRIPE_SECRET_KEY', 'sk_live_...'],
  [{ ...STRIPE, STRIPE_SECRET_KEY: 'sk_live_' }, 'STRIPE_SECRET_KEY', 'sk_live_...'],
  [{ ...STRIPE, STRIPE_SECRET_KEY: `"${STRIPE.STRIPE_SECRET_KEY}"` }, 'STRIPE_SECRET_KEY', 'sk_live_...'],
  [{ ...STRIPE, STRIPE_SECRET_KEY: STRIPE.STRIPE_WEBHOOK_SECRET }, 'STRIPE_SECRET_KEY', 'sk_live_...'],
  [{ ...STRIPE, STRIPE_WEBHOOK_SECRET: 'we_hunter2hunter2' }, 'STRIPE_WEBHOOK_SECRET', 'whsec_...'],
  [{ ...STRIPE, STRIPE_WEBHOOK_SECRET: STRIPE.STRIPE_SECRET_KEY }, 'STRIPE_WEBHOOK_SECRET', 'whsec_...'],
  [{ ...STRIPE, ...PRODUCTION }, 'STRIPE_SECRET_KEY', 'sk_live_...'],
  [{ STRIPE_SECRET_KEY: STRIPE.STRIPE_SECRET_KEY }, 'STRIPE_WEBHOOK_SECRET', 'STRIPE_SECRET_KEY'],
  [{ ...STRIPE, STRIPE_API_URL: 'http://stripe.example' }, 'STRIPE_API_URL', 'https://api.stripe.com'],
  [
    { ...PRODUCTION, ...STRIPE, STRIPE_SECRET_KEY: `sk_live_${'a'.repeat(24)}`, STRIPE_API_URL: 'http://127.0.0.1:1' },
    'STRIPE_API_URL',
    'https://api.stripe.com',
  ],
  [{ TRUSTED_PROXIES: '0.0.0.0/0' }, 'TRUSTED_PROXIES', '10.0.0.5'],
  [{ TRUSTED_PROXIES: '10.0.0.5, ::/0' }, 'TRUSTED_PROXIES', '10.0.0.5'],
  [{ TRUSTED_PROXIES: '0.0.0.0/1,128.0.0.0/1' }, 'TRUSTED_PROXIES', '10.0.0.5'],
  [{ TRUSTED_PROXIES: 'proxy.internal' }, 'TRUSTED_PROXIES', '10.0.0.0/8'],
  [{ TRUSTED_PROXY: '10.0.0.5' }, 'TRUSTED_PROXY is not a setting', 'TRUSTED_PROXIES=10.0.0.5'],
  [{ STRIPE_SECRETKEY: 'hunter2' }, 'STRIPE_SECRETKEY is not a setting', 'STRIPE_SECRET_KEY=sk_live_...'],
  [{ DATABSE_URL: 'x' }, 'DATABSE_URL is not a setting', 'DATABASE_URL'],
  [{ MODEL_FILE: 'models.json' }, 'MODEL_FILE is not a setting', 'MODELS_FILE=models.json'],
  [{ BASEURL: 'https://x.example' }, 'BASEURL is not a setting', 'BASE_URL=https://api.example.com'],
  [{ LOG_URL: 'mysql://hunter2hunter2@db/log' }, 'LOG_URL', 'sslmode=verify-full'],
  [{ LOG_URL: 'postgres://a:hunter2hunter2@db.example.com/log' }, 'LOG_URL', 'sslmode=verify-full'],
  [{ LOG_URL: 'postgres://a@localhost/log?host=db.example.com' }, 'LOG_URL', 'sslmode=verify-full'],
  [{ LOG_URL: 'postgres://a@db.example.com/log?sslmode=require' }, 'LOG_URL', 'sslmode=verify-full'],
  [{ LOG_URL: 'postgres://a@127.0.0.1/log', DATABASE_URL: 'libsql://db.example.com' }, 'LOG_URL', 'DATABASE_URL'],
  [{ LOG_KEEP_HOURS: '0' }, 'LOG_KEEP_HOURS', 'from 1 to 8760'],
  [{ WORKERS: '65' }, 'WORKERS', 'auto'],
  [{ WORKERS: '-1' }, 'WORKERS', 'auto'],
  [{ WORKERS: 'all' }, 'WORKERS', 'auto'],
  [{ WORKERS_PORT: '7000', WORKERS_HOST: '0.0.0.0' }, 'WORKERS_CERT', 'WORKERS_HOST=127.0.0.1'],
  [{ WORKERS_PORT: '7000', WORKERS_CERT: '/nowhere.pem' }, 'WORKERS_CERT_KEY', 'the files of a certificate'],
  [
    { WORKERS_PORT: '7000', WORKERS_CERT: '/nowhere.pem', WORKERS_CERT_KEY: '/nowhere.pem' },
    'WORKERS_CERT cannot be read',
    '/nowhere.pem',
  ],
  [{ HOST: 'http://0.0.0.0' }, 'HOST', '127.0.0.1'],
  [{ HOST: '127.0.0.256' }, 'HOST', '127.0.0.1'],
  [{ HOST: '0.0.0.0:3000' }, 'HOST', '127.0.0.1'],
  [{ HOST: 'my gateway' }, 'HOST', '127.0.0.1'],
  [{ PORT: '80a' }, 'PORT', '65535'],
  [{ BASE_URL: 'api.example.com' }, 'BASE_URL', 'https://api.example.com'],
  [{ CORS_ORIGINS: '*' }, 'CORS_ORIGINS', 'https://app.example.com'],
  [{ DATABASE_URL: 'postgres://user:hunter2@db' }, 'DATABASE_URL', 'libsql://db.example.com'],
  [{ SMTP_URL: 'mail.example.com', MAIL_FROM: 'a@example.com' }, 'SMTP_URL', 'smtps://user:password@mail.example.com'],
  ...['p/w', 'p#w', 'p?w', 'p@s/w#d'].map((password): [Record<string, string>, string, string] => [
    { SMTP_URL: `smtps://user:${password}@mail.example.com`, MAIL_FROM: 'a@example.com' },
    'SMTP_URL',
    '%2F',
  ]),
  [{ SMTP_URL: 'smtps://mail.example.com' }, 'MAIL_FROM', 'gateway@example.com'],
  [{ PAYMENTS_SECRET: 'hunter2' }, 'PAYMENTS_SECRET', 'openssl rand'],
  [{ PAYMENTS: 'tempo' }, 'PAYMENTS_RECIPIENT', 'PAYMENTS=tempo'],
  [{ MODELS_FILE: 'models.yaml' }, 'MODELS_FILE', 'models.json'],
  [{ BACKUP_TO: 's3:bucket' }, 'BACKUP_TO', 's3://bucket/prefix'],
  [{ PAYMENTS: 'paypal' }, 'PAYMENTS', 'one of off, sandbox, tempo, evm'],
  [{ SECRET_KEY: 'hunter2' }, 'SECRET_KEY', 'openssl rand -base64 32'],
  [{ SECRET_KEY: '', SECRET_KEY_FILE: '/nowhere/key' }, 'SECRET_KEY_FILE', '/run/secrets/secret_key'],
  [{ SECRET_KEY: '' }, 'SECRET_KEY is not set', 'bun run up'],
  [{ SECRET_KEY_FILE: '/nowhere/key' }, 'SECRET_KEY and SECRET_KEY_FILE are both set', 'Remove one of them'],
  [{ CONFIG_FILE: '/nowhere.yaml' }, 'CONFIG_FILE', '/etc/gateway/gateway.yaml'],
]

describe('a wrong setting stops the start with one line that names it and an example', () => {
  test.each(REFUSED)('%j', async (environment, name, example) => {
    const line = await refusal(environment)
    expect(line).toContain(name)
    expect(line).toContain(example)
    expect(line).not.toContain('hunter2')
  })

  test('no message repeats a secret, of whatever setting, nor the password of a URL', async () => {
    for (const setting of ALL_SETTINGS.values()) {
      const values = [
        'https://user:hunter2@x.example/',
        'hunter2://user:hunter2@x',
        ...(setting.secret ? ['hunter2'] : []),
      ]
      for (const value of values.filter((_, at) => setting.secret || at === 0))
        expect([setting.name, await lineOf(() => setting.of(() => value))]).toEqual([
          setting.name,
          expect.not.stringContaining('hunter2'),
        ])
    }
  })

  test('names of other programs, and of other settings that are set too, are left alone', async () => {
    for (const name of [
      'HOSTNAME',
      'PORTS',
      'PATH',
      'CLIENT_ID',
      'STRIPE_API_KEY',
      'DATABASE',
      'LOG',
      'BASE',
      'NODE_OPTIONS',
    ])
      expect([name, await refusal({ [name]: 'x' })]).toEqual([name, 'not refused'])
    expect(await refusal({ OTEL_BLRP_SCHEDULE_DELAY: '5' })).toBe('not refused')
    expect(await refusal({ UPSTREAM_WALET: 'x' })).toBe('not refused')
    expect(await refusal({ BASE_URLS: 'x', BASE_URL: 'https://api.example.com' })).toBe('not refused')
    expect(await refusal({ TRUSTED_PROXY: '  ' })).toBe('not refused')
    expect(await refusal({ TRUSTED_PROXIES: '10.0.0.0/8,fc00::/7,203.0.113.7' })).toBe('not refused')
  })

  test('an empty variable that a model names as key_env', async () => {
    const models = join(FOLDER, 'models.json')
    const upstream = { kind: 'openai', base_url: 'http://127.0.0.1:1/v1', key_env: 'ACME_KEY' }
    const model = { id: 'acme/large', upstream, price: { input: 1, output: 2 } }
    writeFileSync(models, JSON.stringify({ models: [model] }))
    const start = (env: Record<string, string>) =>
      lineOf(async () => (await openHarness({ env: { MODELS_FILE: models, ...env } })).close())
    const line = await start({ ACME_KEY: ' ' })
    expect(line).toContain('ACME_KEY is empty')
    expect(line).toContain('acme/large')
    expect(line).toContain('ACME_KEY=sk-...')
    expect(await start({ ACME_KEY: 'sk-1' })).toBe('not refused')
  })

  test('a file of models that does not exist', async () => {
    const line = await lineOf(() => openHarness({ env: { MODELS_FILE: '/nosuch/models.json' } }))
    expect(line).toContain('MODELS_FILE: /nosuch/models.json could not be read')
  })

  test('a database that does not answer', async () => {
    const line = await lineOf(() => openHarness({ env: { DATABASE_URL: 'http://127.0.0.1:1?authToken=hunter2' } }))
    expect(line).toContain('The database at 127.0.0.1:1 does not answer')
    expect(line).toContain('DATABASE_URL=libsql://db.example.com')
    expect(line).not.toContain('hunter2')
  })

  test('a log file that cannot be opened', async () => {
    for (const [path, reason] of [
      [join(FOLDER, 'nowhere/gateway.log'), 'its folder does not exist'],
      [FOLDER, 'it is a folder'],
      [join(import.meta.path, 'gateway.log'), 'part of its path is a file'],
    ] as const) {
      const open = () => {
        try {
          return new LogOutput(path)
        } catch (error) {
          throw new Error(logFileProblem(path, error))
        }
      }
      const line = await lineOf(open)
      expect(line).toStartWith(`LOG_FILE=${path} cannot be opened: ${reason}. Name a file`)
      expect(line).toContain('LOG_FILE=/var/log/gateway/gateway.log')
    }
  })

  test('an address that is not of this machine, and a port in use', async () => {
    const handle = () => new Response()
    const open = (host: string, port: number) => lineOf(() => listen({ host, port }, handle, handle, handle))
    for (const line of [await open('203.0.113.9', 0), await lineOf(() => freePort('203.0.113.9'))])
      expect(line).toBe(
        'HOST=203.0.113.9 is not an address of this machine. Use one, such as HOST=127.0.0.1, or 0.0.0.0 for all',
      )
    expect(await open('nosuch.invalid', 0)).toContain('HOST=nosuch.invalid is not an address of this machine')
    for (const code of ['ENOENT', 'EINVAL', 'EADDRINUSE']) {
      const serve = () => {
        throw Object.assign(new Error(`${code}: listen`), { code })
      }
      expect(await lineOf(() => openPort({ host: 'nosuch', port: 3000 }, serve))).toContain(
        'HOST=nosuch is not an address',
      )
    }
    const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: handle })
    expect(await open('127.0.0.1', taken.port ?? 0)).toContain(`PORT=${taken.port} is in use by another process`)
    await taken.stop(true)
  })

  test('a data folder that is a file, that cannot be made, or that is on a read-only disk', async () => {
    const file = join(FOLDER, 'file')
    writeFileSync(file, '')
    const secure = (folder: string) => lineOf(() => secureFolder(folder, () => {}))
    for (const [folder, reason] of [
      [file, 'it is not a folder'],
      [join(file, 'below'), 'part of its path is a file'],
      ['/proc/gateway', 'it cannot be created there'],
    ] as const)
      expect(await secure(folder)).toBe(
        `The data folder ${folder} cannot be used: ${reason}. Set DATA_DIR to a folder that this user may write, such as DATA_DIR=/var/lib/gateway`,
      )
  })

  const canMount = process.getuid?.() === 0 && Bun.spawnSync(['unshare', '--mount', 'true']).exitCode === 0
  test.skipIf(!canMount)('a data folder on a read-only disk', async () => {
    const folder = mkdtempSync(join(FOLDER, 'disk-'))
    const main = join(import.meta.dir, '../../server/setup/secure-folder.ts')
    const script = `import { secureFolder } from '${main}'; await secureFolder('${folder}', () => {}).catch((error) => console.log(error.message))`
    const mounted = `mount -t tmpfs -o ro,mode=700 tmpfs ${folder} && exec ${process.execPath} -e "$0"`
    const { stdout } = Bun.spawnSync(['unshare', '--mount', 'sh', '-c', mounted, script])
    expect(stdout.toString()).toBe(
      `The data folder ${folder} cannot be used: it is on a read-only disk. Set DATA_DIR to a folder that this user may write, such as DATA_DIR=/var/lib/gateway\n`,
    )
  })
})
