import type { UsageReport } from '../../http/usage/record'
import { ApiClient, gatewayUrl } from '../api'
import { COMMON_USAGE, type Command, parsedArgs, words } from '../command'
import { UsageError } from '../control-client'
import { asJson, printed, usdText } from '../print'
import { SessionStore } from '../session-store'
import { CLI_SCOPES, revokeTokens, signInByBrowser, signInByDevice } from '../sign-in'
import { table } from '../table'

export const LOGIN: Command = {
  name: 'login',
  summary: 'sign in through a browser',
  usage: `[--device] [--url URL] [--scope "SCOPES"]

  --device   sign in with a code in any browser, for machines without one
  --scope    what this machine may do (default: "${CLI_SCOPES}")
`,
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, { device: { type: 'boolean' }, scope: { type: 'string' } })
    words('login', positionals, [])
    const store = new SessionStore(terminal)
    const url = gatewayUrl(values.url, terminal, null)
    const scopes = new Set((values.scope ?? CLI_SCOPES).split(/[ ,]+/).filter(Boolean))
    const scope = [...scopes.add('offline_access')].join(' ')
    const session = await (values.device ? signInByDevice : signInByBrowser)(url, scope, terminal)
    const place = await store.write(session)
    printed(
      terminal,
      values,
      { url, scope: session.scope, kept_in: place },
      () =>
        `Signed in to ${url}. The sign-in is stored in ${place === 'keychain' ? "the system's keychain" : 'a file that only you can read'}.\n`,
    )
  },
}

export const LOGOUT: Command = {
  name: 'logout',
  summary: 'sign out, here and at the gateway',
  usage: '\n',
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, {})
    words('logout', positionals, [])
    const store = new SessionStore(terminal)
    const session = await store.read().catch(() => null)
    const isRevoked = session !== null && (await revokeTokens(session, terminal))
    await store.remove()
    printed(terminal, values, { signed_out: session !== null, told_gateway: isRevoked }, () =>
      session === null
        ? 'You were not signed in.\n'
        : isRevoked
          ? 'Signed out.\n'
          : `Signed out here, but ${session.url} could not be reached. Disconnect "gateway-cli" on its Connected apps page too.\n`,
    )
  },
}

export const WHOAMI: Command = {
  name: 'whoami',
  summary: 'show the account and permissions in use',
  usage: COMMON_USAGE,
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, {})
    words('whoami', positionals, [])
    const api = await ApiClient.open(terminal, values)
    const me = await api.json('GET', '/v1/whoami')
    printed(terminal, values, { url: api.url, ...me }, () =>
      table(
        ['GATEWAY', api.url],
        Object.entries(me).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.join(' ') : String(value ?? '-'),
        ]),
      ),
    )
  },
}

export const BALANCE: Command = {
  name: 'balance',
  summary: 'show the account balance and the remaining limit',
  usage: COMMON_USAGE,
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, {})
    words('balance', positionals, [])
    const api = await ApiClient.open(terminal, values)
    const answer = await api.json('GET', '/v1/credits/balance')
    const key = Object(answer['api_key']) as Record<string, unknown>
    printed(terminal, values, answer, () =>
      table(
        ['', 'USD'],
        [
          ...(answer['account_balance_micros_usd'] === null
            ? []
            : [['account balance', usdText(answer['account_balance_micros_usd'])]]),
          ['available now', usdText(answer['available_balance_micros_usd'])],
          ['spent by this key or app', usdText(key['used_micros_usd'])],
          ['remaining under its limit', key['unlimited'] === true ? 'unlimited' : usdText(key['remaining_micros_usd'])],
        ],
      ),
    )
  },
}

export const USAGE: Command = {
  name: 'usage',
  summary: 'show requests and charges by day or hour',
  usage: `[REQUEST_ID] [--days N] [--by day|hour] [--scope key|account]

With REQUEST_ID, shows how that call was charged.

${COMMON_USAGE}`,
  words: ['--days', '--by', '--scope'],
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, {
      days: { type: 'string' },
      by: { type: 'string' },
      scope: { type: 'string' },
    })
    const api = await ApiClient.open(terminal, values)
    if (positionals.length > 0) {
      const { request_id: id } = words('usage', positionals, ['request_id'])
      const call = await api.json('GET', `/v1/usage/${encodeURIComponent(id)}`)
      return printed(terminal, values, call, () => asJson(call))
    }
    const { days = '7', by = 'day', scope = terminal.env['GATEWAY_API_KEY'] ? 'key' : 'account' } = values
    if (!/^\d{1,3}$/.test(days) || Number(days) < 1)
      throw new UsageError(`--days must be a number of days, not "${days}"`)
    if (by !== 'day' && by !== 'hour') throw new UsageError(`--by must be day or hour, not "${by}"`)
    if (scope !== 'key' && scope !== 'account') throw new UsageError(`--scope must be key or account, not "${scope}"`)
    const end = Math.floor(terminal.now() / 1000)
    const query = new URLSearchParams({
      start_time: String(end - Number(days) * 86_400),
      end_time: String(end),
      bucket_width: by === 'day' ? '1d' : '1h',
      scope,
    })
    const answer = (await api.json('GET', `/v1/usage?${query}`)) as UsageReport
    const { buckets, totals } = answer
    const line = (name: string, one: UsageReport['totals']) => [
      name,
      one.requests,
      one.failed_requests,
      usdText(one.charged_micros_usd),
    ]
    printed(terminal, values, answer, () =>
      table(
        ['FROM (UTC)', 'REQUESTS', 'FAILED', 'USD'],
        [
          ...buckets
            .filter(({ requests }) => requests > 0)
            .map((one) => line(new Date(one.start_time * 1000).toISOString().slice(0, by === 'day' ? 10 : 16), one)),
          line('total', totals),
        ],
      ),
    )
  },
}
