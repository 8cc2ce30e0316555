import { describe, expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'
import { databaseFile } from '../../server/adapters/stores/libsql/driver/file/database-file'
import { readConfig, settingsAtStart, workerConfig, workerEnvironment } from '../../server/config'
import { ConfigError } from '../../server/config/config-error'
import { workers } from '../../server/config/workers'
import { micros } from '../../server/core/money'
import { PUBLISHED_ACCOUNTS } from '../../server/core/payments/published-accounts'

const GOOD = { SECRET_KEY: 'a secret that only tests know, 32 bytes and more' }
const read = (more: Record<string, string> = {}) => readConfig({ ...GOOD, ...more }, {})

describe('the configuration', () => {
  test('a worker on another machine needs its primary and a credential, and no secret of the gateway', () => {
    const credential = `rack-1:${'k'.repeat(43)}`
    const given = {
      PRIMARY: 'https://a.example:7000, https://[::1], http://127.0.0.1:7000',
      WORKER_CREDENTIAL: credential,
    }
    expect(settingsAtStart(given).remote()).toMatchObject({
      primaries: [
        { hostname: 'a.example', port: 7000, tls: true },
        { hostname: '::1', port: 443, tls: true },
        { hostname: '127.0.0.1', port: 7000, tls: false },
      ],
      credential: { name: 'rack-1' },
      ca: null,
    })
    for (const [more, line] of [
      [{ PRIMARY: '' }, 'PRIMARY is not set'],
      [{ WORKER_CREDENTIAL: '' }, 'WORKER_CREDENTIAL is not set'],
      [{ WORKER_CREDENTIAL: 'hunter2' }, 'WORKER_CREDENTIAL must be what "gateway operator workers add NAME" printed'],
      [{ PRIMARY: 'http://10.0.0.1:7000' }, 'not encrypted'],
      [{ PRIMARY: 'https://a/path' }, 'without a path'],
      [{ PRIMARY: 'https://user:hunter2@a' }, 'without a path'],
      [{ PRIMARY: 'ws://a' }, 'https://10.0.0.1:7000'],
      [{ PRIMARY_CA: '/nowhere.pem' }, 'PRIMARY_CA cannot be read'],
    ] as const)
      expect(() => settingsAtStart({ ...given, ...more }).remote()).toThrow(line)
  })

  test('a worker has its settings from its primary, but for its address, log and data, and no other secret', () => {
    const primary = readConfig(
      {
        ...GOOD,
        NODE_ENV: 'production',
        SEALING_KEYS: `k1:${'A'.repeat(43)}=`,
        BASE_URL: 'https://api.example.com',
        TRUSTED_PROXIES: '10.0.0.5',
        WEBSEARCH_PROVIDER: 'brave,searxng',
        BRAVE_API_KEY: 'brave-secret',
        SEARXNG_URL: 'https://search.example.com',
        WEBSEARCH_CACHE: 'image-search=300',
        ALLOW_PRIVATE_UPSTREAMS: '10.1.0.0/16',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example.com',
        DRAIN_SECONDS: '7',
        ANON_RPM: '9',
        WORKERS: '3',
        WORKERS_PORT: '7000',
        UPSTREAM_KEY: 'upstream-secret',
        PORT: '4000',
      },
      {},
    )
    const texts = JSON.stringify(primary.forWorkers)
    for (const secret of [GOOD.SECRET_KEY, 'k1:', 'upstream-secret']) expect(texts).not.toContain(secret)
    const own = {
      PORT: '5000',
      HOST: '0.0.0.0',
      LOG_LEVEL: 'error',
      WORKERS: '2',
      CONFIG_FILE: '',
      ANON_RPM: '1',
      BASE_URL: 'http://no',
    }
    const worker = workerConfig(JSON.parse(texts), false, own)
    const shared = [
      ...['production', 'baseUrl', 'trustedProxies', 'corsOrigins', 'websearch', 'traces', 'anonymousRpm'],
      ...['drainSeconds', 'drainNoticeSeconds', 'creditBuysPaidProviders'],
    ] as (keyof typeof primary)[]
    for (const name of shared) expect([name, worker[name]]).toEqual([name, primary[name]])
    expect(worker.apis.privateUpstreams).toEqual(primary.apis.privateUpstreams)
    const { port, host, logLevel, workers, workersListener, secretKey } = worker
    expect([port, host, logLevel, workers, workersListener]).toEqual([5000, '0.0.0.0', 'error', 0, null])
    expect(secretKey).not.toBe(GOOD.SECRET_KEY)
    expect(workerConfig(primary.forWorkers, true, own).workers).toBe(2)
    const environment = {
      ...own,
      PATH: '/bin',
      SECRET_KEY_FILE: '/s',
      BRAVE_API_KEY: 'b',
      UPSTREAM_KEY: 'u',
      SSL_CERT_FILE: '/c',
    }
    expect(Object.keys(workerEnvironment({ port: 1, workers: 2 }, environment))).toEqual([
      ...['PORT', 'HOST', 'LOG_LEVEL', 'WORKERS', 'CONFIG_FILE', 'PATH', 'SSL_CERT_FILE'],
    ])
  })

  test('has a default for everything but the secret', () => {
    const config = read()
    expect(config.port).toBe(3000)
    expect(config.host).toBe('127.0.0.1')
    expect(config.baseUrl).toBe('http://127.0.0.1:3000')
    expect(config.databaseUrl).toEndWith('/data/gateway.db')
    const folder = '/srv/a?b #1 100% é'
    expect(databaseFile(read({ DATA_DIR: folder }).databaseUrl)).toBe(`${folder}/gateway.db`)
    expect(config.anonymousRpm).toBe(60)
    expect(config.websearch.order).toEqual(['local'])
    expect(config.creditBuysPaidProviders).toBe(false)
    expect(config.trustedProxies).toBeNull()
  })

  test('starts as many workers as are set, or one fewer than there are cores; elsewhere than on Linux none', () => {
    expect(read().workers).toBe(0)
    expect(read({ WORKERS: '0' }).workers).toBe(0)
    expect(workers('3', 'WORKERS', 'linux')).toBe(3)
    expect(workers('64', 'WORKERS', 'linux')).toBe(64)
    expect(workers('auto', 'WORKERS', 'linux')).toBe(Math.min(availableParallelism() - 1, 64))
    expect(workers('0', 'WORKERS', 'darwin')).toBe(0)
    for (const text of ['1', 'auto'])
      expect(() => workers(text, 'WORKERS', 'darwin')).toThrow(
        `WORKERS=${text} needs Linux. Unset it: one process serves all calls here`,
      )
  })

  test.each([
    ['PORT', 'abc'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['BASE_URL', 'ftp://x'],
    ['BASE_URL', 'https://x.example/path'],
    ['BASE_URL', 'https://user@x.example'],
    ['TRUSTED_PROXIES', '10.0.0.1/8'],
    ['TRUSTED_PROXIES', 'proxy.internal'],
    ['ANON_RPM', '0'],
    ['DRAIN_SECONDS', '1.5'],
    ['SIGNUP_RPM', '1.5'],
    ['WEBSEARCH_PROVIDER', 'nosuch'],
    ['DATABASE_URL', 'postgres://x'],
    ['SECRET_KEY', 'short'],
    ['LOG_LEVEL', 'loud'],
    ['BACKUP_EVERY', '1w'],
    ['BACKUP_EVERY', '1m'],
    ['BACKUP_KEEP', '0'],
    ['BACKUP_TO', 's3://backups/prod'],
    ['LOG_FORMAT', 'xml'],
    ['METRICS_PORT', '65536'],
    ['METRICS_PORT', '3000'],
    ['METRICS_TOKEN', 'short'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['TRACES_TO_UPSTREAMS', 'yes'],
    ['NODE_ENV', 'prod'],
    ['CREDIT_BUYS_PAID_PROVIDERS', 'yes'],
    ['WEBSEARCH_PROVIDER', 'google'],
    ['WEBSEARCH_PROVIDER', 'local,local'],
    ['WEBSEARCH_PROVIDER', 'local,'],
    ['WEBSEARCH_CACHE', '60'],
    ['WEBSEARCH_CACHE', 'image-search'],
    ['WEBSEARCH_CACHE', 'image-search=0'],
    ['WEBSEARCH_CACHE', 'chat-completions=5'],
    ['WEBSEARCH_CACHE', 'image-search=86401'],
    ['WEBSEARCH_COSTS_USD', '0.005'],
    ['WEBSEARCH_COSTS_USD', 'brave=-1'],
    ['WEBSEARCH_COSTS_USD', 'bing=0.005'],
    ['SOCIAL_COSTS_USD', 'image-search=0.01'],
    ['SOCIAL_COSTS_USD', 'social-post'],
    ['WEBSEARCH_CACHE_MB', '0'],
    ['WEBSEARCH_CACHE_MB', '1.5'],
    ['SOCIAL_PROVIDER', 'nosuch'],
    ['SEALING_KEYS', 'k1'],
    ['SEALING_KEYS', 'k1:c2hvcnQ='],
    ['SEALING_KEYS', `derived:${'A'.repeat(43)}=`],
    ['SEALING_KEYS', `k1:${'A'.repeat(43)}=,k1:${'B'.repeat(42)}A=`],
  ])('%s=%s is refused in one line that names it', (name, value) => {
    const reading = () => read({ [name]: value })
    expect(reading).toThrow(ConfigError)
    expect(reading).toThrow(name)
    expect(reading).not.toThrow('\n')
  })

  test('a secret that is not there is an error that says how to make one', () => {
    expect(() => readConfig({ DATA_DIR: '/nowhere/at/all' }, {})).toThrow('bun run up')
  })

  test('traces follow the standard variables of OpenTelemetry', () => {
    expect(read().traces).toBeNull()
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/base/' }
    expect(read({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }).traces).toBeNull()
    expect(read({ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }).traces).toBeNull()
    expect(read(endpoint).traces).toEqual({
      url: 'http://127.0.0.1:4318/base/v1/traces',
      headers: {},
      timeoutMs: 10_000,
      resource: { 'service.name': 'paid-api-gateway' },
      sampler: 'parentbased_always_on',
      ratio: 1,
      maxQueue: 2048,
      maxBatch: 512,
      delayMs: 5_000,
      toUpstreams: false,
    })
    const { url, headers, resource, ratio } =
      read({
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://otel.example/x',
        OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20a%3D, b=1',
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=2',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test,service.name=other',
        OTEL_TRACES_SAMPLER: 'traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '.01',
      }).traces ?? {}
    expect({ url, headers, resource, ratio }).toEqual({
      url: 'https://otel.example/x',
      headers: { authorization: 'Bearer a=', b: '2' },
      resource: { 'deployment.environment': 'test', 'service.name': 'other' },
      ratio: 0.01,
    })
  })

  test.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=secret%0d%0ab:c'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '0'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '1000000'],
  ])('with traces, %s=%s is refused by its name, and headers are never repeated', (name, value) => {
    const reading = () => read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', [name]: value })
    expect(reading).toThrow(name)
    expect(reading).not.toThrow('secret')
  })

  test('metrics that others can reach need a token, and it is never repeated', () => {
    expect(read().metrics).toBeNull()
    expect(read({ METRICS_PORT: '9464' }).metrics).toEqual({ listener: { host: '127.0.0.1', port: 9464 }, token: null })
    const token = 'x'.repeat(32)
    expect(read({ METRICS_TOKEN: token }).metrics).toEqual({ listener: null, token })
    const open = { METRICS_PORT: '9464', METRICS_HOST: '0.0.0.0' }
    expect(() => read(open)).toThrow('METRICS_TOKEN')
    expect(read({ ...open, METRICS_TOKEN: token }).metrics?.token).toBe(token)
    expect(() => read({ METRICS_TOKEN: 'hunter2' })).not.toThrow('hunter2')
  })

  test('a refused secret is not repeated', () => {
    expect(() => read({ SECRET_KEY: 'hunter2' })).not.toThrow('hunter2')
  })

  describe('of search', () => {
    const BRAVE = { WEBSEARCH_PROVIDER: ' brave , local', BRAVE_API_KEY: 'BSA' }

    test('takes providers in any order, and what each needs', () => {
      const { websearch } = read({ ...BRAVE, BRAVE_BASE_URL: 'https://brave.proxy.example/base/' })
      expect(websearch.order).toEqual(['brave', 'local'])
      expect(websearch.brave).toEqual({ apiKey: 'BSA', baseUrl: 'https://brave.proxy.example/base' })
      expect(read(BRAVE).websearch.brave?.baseUrl).toBe('https://api.search.brave.com')
      expect(read().websearch.brave).toBeNull()
    })

    test('a paid provider without its key does not start, and its key is never repeated', () => {
      expect(() => read({ WEBSEARCH_PROVIDER: 'local,brave' })).toThrow('BRAVE_API_KEY is not set')
      expect(() => read({ ...BRAVE, BRAVE_API_KEY: 'se\ncret' })).toThrow('BRAVE_API_KEY')
      expect(() => read({ ...BRAVE, BRAVE_API_KEY: 'se\ncret' })).not.toThrow('cret')
      expect(() => read({ ...BRAVE, BRAVE_BASE_URL: 'https://user:secret@x.example' })).not.toThrow('secret')
      expect(() => read({ ...BRAVE, BRAVE_BASE_URL: 'brave.example' })).toThrow('BRAVE_BASE_URL')
    })

    test('searxng needs its address, and may be given engines for strict', () => {
      const SEARXNG = { WEBSEARCH_PROVIDER: 'searxng', SEARXNG_URL: 'http://10.0.0.5:8888/' }
      expect(read(SEARXNG).websearch.searxng).toEqual({ url: 'http://10.0.0.5:8888', strictEngines: [] })
      const strict = read({ ...SEARXNG, SEARXNG_STRICT_ENGINES: 'bing images, qwant' }).websearch.searxng
      expect(strict?.strictEngines).toEqual(['bing images', 'qwant'])
      expect(() => read({ WEBSEARCH_PROVIDER: 'searxng' })).toThrow('SEARXNG_URL is not set')
      expect(() => read({ ...SEARXNG, SEARXNG_URL: 'searxng' })).toThrow('SEARXNG_URL')
    })

    test('keeps no answers unless told to, by operation', () => {
      expect([...read().websearch.cacheSeconds]).toEqual([])
      const { websearch } = read({ WEBSEARCH_CACHE: 'llm-context = 60,image-search=300', WEBSEARCH_CACHE_MB: '2' })
      expect([...websearch.cacheSeconds]).toEqual([
        ['llm-context', 60],
        ['image-search', 300],
      ])
      expect(websearch.cacheBytes).toBe(2 * 1024 * 1024)
    })

    test('knows the cost of a request to a provider from its setting', () => {
      expect(read().websearch.costs.size).toBe(0)
      const { costs } = read({ WEBSEARCH_COSTS_USD: 'brave=0.005, searxng=0' }).websearch
      expect(Object.fromEntries(costs)).toEqual({ brave: micros(5000), searxng: micros(0) })
    })
  })

  test('an address that answers on all interfaces is not loopback', () => {
    expect(read({ HOST: '0.0.0.0' }).isLoopback).toBe(false)
    expect(read({ HOST: '::1' }).isLoopback).toBe(true)
    expect(read({ HOST: '127.0.0.2' }).isLoopback).toBe(true)
  })

  test('the public address of a host that means "all interfaces" is one that a browser can open', () => {
    expect(read({ HOST: '0.0.0.0', PORT: '8080' }).baseUrl).toBe('http://localhost:8080')
    expect(read({ HOST: '::', PORT: '8080' }).baseUrl).toBe('http://localhost:8080')
    expect(read({ HOST: '::1', PORT: '8080' }).baseUrl).toBe('http://[::1]:8080')
  })

  test('sealing keys come newest first; the one derived from SECRET_KEY stays as the oldest', () => {
    const ring = read({ SEALING_KEYS: `k2:${'A'.repeat(43)}=, k1:${'B'.repeat(42)}A=` }).sealingKeys
    expect(ring.map(({ id }) => id)).toEqual(['k2', 'k1', 'derived'])
    expect(ring.map(({ bytes }) => bytes.length)).toEqual([32, 32, 32])
    expect(read().sealingKeys).toEqual(ring.slice(-1))
    expect(read({ SECRET_KEY: `${GOOD.SECRET_KEY}!` }).sealingKeys).not.toEqual(read().sealingKeys)
  })

  test('in production, sealing keys must be given', () => {
    expect(() => read({ NODE_ENV: 'production' })).toThrow('SEALING_KEYS')
    expect(read({ NODE_ENV: 'production', SEALING_KEYS: `k1:${'A'.repeat(43)}=` }).sealingKeys[0]?.id).toBe('k1')
  })

  test('a refused sealing key is not repeated', () => {
    expect(() => read({ SEALING_KEYS: 'k1:hunter2' })).not.toThrow('hunter2')
  })

  test('a sandbox serves in production only when it is named (spec D6)', () => {
    const production = { NODE_ENV: 'production', SEALING_KEYS: `k1:${'A'.repeat(43)}=` }
    expect(read().social).toEqual({ provider: 'sandbox' })
    expect(read(production).social).toEqual({ provider: 'none' })
    expect(read({ ...production, SOCIAL_PROVIDER: 'sandbox' }).social).toEqual({ provider: 'sandbox' })
  })

  test('the real network needs a client id, and in production gets no token but over TLS', () => {
    const x = { SOCIAL_PROVIDER: 'x', X_CLIENT_ID: 'id' }
    expect(() => read({ SOCIAL_PROVIDER: 'x' })).toThrow('X_CLIENT_ID')
    expect(read(x).social).toEqual({
      provider: 'x',
      clientId: 'id',
      clientSecret: null,
      apiUrl: 'https://api.x.com',
      authorizeUrl: 'https://x.com/i/oauth2/authorize',
      costs: new Map(),
    })
    const production = { NODE_ENV: 'production', SEALING_KEYS: `k1:${'A'.repeat(43)}=`, ...x }
    expect(() => read({ ...production, X_API_URL: 'http://api.example.com' })).toThrow('X_API_URL')
    expect(() => read({ ...x, X_AUTHORIZE_URL: 'javascript:alert(1)' })).toThrow('X_AUTHORIZE_URL')
  })

  describe('of payments by evm', () => {
    const KEY = `0x${'7'.repeat(64)}`
    const EVM = {
      PAYMENTS_EVM_RPC_URL: 'https://node.example/token',
      PAYMENTS_EVM_CHAIN_ID: '8453',
      PAYMENTS_EVM_TOKEN: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      PAYMENTS_EVM_TOKEN_NAME: 'USD Coin',
      PAYMENTS_EVM_TOKEN_VERSION: '2',
      PAYMENTS_EVM_RECIPIENT: `0x${'8'.repeat(40)}`,
      PAYMENTS_EVM_RELAYER_KEY: KEY,
    }

    test('all of its settings offer it, with the other method or alone; PAYMENTS=off offers nothing', () => {
      expect(read().payments.evm).toBeNull()
      expect(read({ ...EVM, PAYMENTS: 'evm' }).payments).toMatchObject({
        rail: 'off',
        evm: { chainId: 8453, tokenName: 'USD Coin', tokenVersion: '2', decimals: 6, relayerKey: KEY },
      })
      expect(read({ ...EVM, PAYMENTS: 'sandbox' }).payments).toMatchObject({ rail: 'sandbox', evm: { chainId: 8453 } })
      // As in development without the setting; at an address that others reach there is no sandbox.
      expect(read(EVM).payments).toMatchObject({ rail: 'sandbox', evm: { chainId: 8453 } })
      expect(read({ ...EVM, HOST: '0.0.0.0', BASE_URL: 'https://x.example' }).payments).toMatchObject({ rail: 'off' })
      expect(read({ ...EVM, PAYMENTS: 'off' }).payments).toMatchObject({ rail: 'off', evm: null })
      expect(() => read({ PAYMENTS: 'evm' })).toThrow('PAYMENTS=evm needs the PAYMENTS_EVM_* settings')
    })

    test('a facilitator takes the place of the relayer, and its credential is in no message', () => {
      const { PAYMENTS_EVM_RELAYER_KEY: key = '', ...without } = EVM
      const url = 'https://facilitator.example.com/x402'
      const facilitator = { PAYMENTS_FACILITATOR_URL: url, PAYMENTS_FACILITATOR_AUTHORIZATION: 'Bearer secret-1' }
      const settings = { url, authorization: 'Bearer secret-1' }
      expect(read({ ...without, ...facilitator }).payments.evm).toMatchObject({
        relayerKey: null,
        facilitator: settings,
      })
      expect(read({ ...EVM, ...facilitator }).payments.evm).toMatchObject({ relayerKey: key, facilitator: settings })
      expect(read(EVM).payments.evm).toMatchObject({ facilitator: null })
      expect(() => read(without)).toThrow('PAYMENTS_EVM_RELAYER_KEY')
      expect(() => read(facilitator)).toThrow('PAYMENTS_EVM_RPC_URL')
      const { PAYMENTS_FACILITATOR_URL: _, ...alone } = facilitator
      expect(() => read({ ...EVM, ...alone })).toThrow('PAYMENTS_FACILITATOR_URL is not')
      for (const wrong of [
        'facilitator',
        'ftp://x.example',
        'https://ada:secret-1@x.example',
        'https://x.example?key=secret-1',
      ]) {
        expect(() => read({ ...EVM, PAYMENTS_FACILITATOR_URL: wrong })).toThrow('PAYMENTS_FACILITATOR_URL must be')
        expect(() => read({ ...EVM, PAYMENTS_FACILITATOR_URL: wrong })).not.toThrow('secret-1')
      }
      const broken = { ...facilitator, PAYMENTS_FACILITATOR_AUTHORIZATION: 'secret-1\nX: y' }
      expect(() => read({ ...EVM, ...broken })).toThrow('must be the value of an Authorization header')
      expect(() => read({ ...EVM, ...broken })).not.toThrow('secret-1')
    })

    test('a payment’s gas has a default ceiling, and no price below it is offered', () => {
      const evm = (more: Record<string, string> = {}) => read({ ...EVM, ...more }).payments.evm
      // 0.005 USD of an ether that costs 5,000.
      expect(evm()).toMatchObject({ minAmount: 5000, gas: { maxFeePerGas: null, maxCostPerPayment: 10n ** 12n } })
      const set = { PAYMENTS_MAX_GAS_USD: '0.02', PAYMENTS_EVM_NATIVE_USD: '4000', PAYMENTS_EVM_MAX_FEE_GWEI: '0.05' }
      const gas = { maxFeePerGas: 50_000_000n, maxCostPerPayment: 5n * 10n ** 12n }
      expect(evm(set)).toMatchObject({ minAmount: 20_000, gas })
      expect(evm({ ...set, PAYMENTS_EVM_MIN_PRICE_USD: '0.005' })).toMatchObject({ minAmount: 5000, gas })
      for (const name of [...Object.keys(set), 'PAYMENTS_EVM_MIN_PRICE_USD'])
        for (const wrong of ['0', '-1', 'much']) expect(() => evm({ [name]: wrong })).toThrow(name)
    })

    test('confirmations and the age of blocks are those of the chain, or as they are set', () => {
      const pace = (chain: string, more: Record<string, string> = {}) =>
        read({ ...EVM, PAYMENTS_EVM_CHAIN_ID: chain, ...more }).payments.evm
      expect(pace('8453')).toMatchObject({ confirmations: 10, maxBlockAgeMs: 60_000 })
      expect(pace('1')).toMatchObject({ confirmations: 12, maxBlockAgeMs: 180_000 })
      expect(pace('123456')).toMatchObject({ confirmations: 12, maxBlockAgeMs: 180_000 })
      expect(pace('31337')).toMatchObject({ confirmations: 1, maxBlockAgeMs: null })
      const set = { PAYMENTS_CONFIRMATIONS: '30', PAYMENTS_MAX_BLOCK_AGE_SECONDS: '0' }
      expect(pace('8453', set)).toMatchObject({ confirmations: 30, maxBlockAgeMs: null })
      expect(() => pace('8453', { PAYMENTS_CONFIRMATIONS: '0' })).toThrow('PAYMENTS_CONFIRMATIONS')
    })

    test.each(Object.keys(EVM))('without %s the start ends with one line that names it', (name) => {
      const { [name as keyof typeof EVM]: _, ...rest } = EVM
      expect(() => read(rest)).toThrow(`${name} not set; payments by evm need`)
    })

    test('a wrong one is named; the relayer key and the node, which may hold a token, are not repeated', () => {
      expect(() => read({ ...EVM, PAYMENTS_EVM_TOKEN: '0x12' })).toThrow('PAYMENTS_EVM_TOKEN must be')
      expect(() => read({ ...EVM, PAYMENTS_EVM_CHAIN_ID: 'base' })).toThrow('PAYMENTS_EVM_CHAIN_ID must be')
      expect(() => read({ ...EVM, PAYMENTS_EVM_TOKEN_DECIMALS: '2' })).toThrow('PAYMENTS_EVM_TOKEN_DECIMALS must be')
      for (const [name, secret] of [
        ['PAYMENTS_EVM_RELAYER_KEY', 'hunter2'],
        ['PAYMENTS_EVM_RPC_URL', 'ftp://hunter2'],
      ] as const) {
        expect(() => read({ ...EVM, [name]: secret })).toThrow(name)
        expect(() => read({ ...EVM, [name]: secret })).not.toThrow('hunter2')
      }
    })

    test('production refuses accounts whose keys stand in every manual', () => {
      const production = { ...EVM, NODE_ENV: 'production', SEALING_KEYS: `k1:${'A'.repeat(43)}=` }
      const [first] = PUBLISHED_ACCOUNTS
      expect(read(production).payments.evm?.relayerKey).toBe(KEY)
      expect(() =>
        read({ ...production, PAYMENTS_EVM_RELAYER_KEY: first.key.toUpperCase().replace('0X', '0x') }),
      ).toThrow('PAYMENTS_EVM_RELAYER_KEY is a development account')
      expect(() => read({ ...production, PAYMENTS_EVM_RECIPIENT: first.address })).toThrow(
        'PAYMENTS_EVM_RECIPIENT is a development account',
      )
    })
  })
})
