import { parseAddress } from '../core/credentials/address'
import { ConfigError } from './config-error'
import type { DataSettings } from './data'
import type { ListeningSettings } from './listening'
import type { PaymentSettings } from './payments/payments'
import { group, invalidSetting, list, type Read, setting, text } from './schema/setting'
import type { SocialConfig } from './social'

export const CLUSTER = group(
  'Many nodes',
  'Several processes on one database server; one of them decides, the others forward to it and take over: [many nodes](many-nodes.md).',
  {
    NODE_URL: setting(
      {
        default: null,
        example: 'http://10.0.0.5:3000',
        doc: 'How other nodes reach this one: an origin, `https:`, or `http:` in a private network. Makes this process one of many on its `DATABASE_URL`, which must be a server',
      },
      { type: 'string', format: 'uri' },
      nodeUrl,
    ),
    CELL_DATABASE_URLS: list(
      {
        example: 'libsql://cell-2.internal,libsql://cell-3.internal',
        // They may contain a token.
        secret: true,
        doc: 'Database servers for accounts beside `DATABASE_URL`, each a [cell](many-nodes.md#several-cells) that one node owns: new accounts go to the one with the fewest. Equal on all nodes. Add to the end; never remove one or change the order',
      },
      cellUrls,
    ),
    CELL_DATABASE_AUTH_TOKEN: text({
      secret: true,
      doc: 'Token of all databases in `CELL_DATABASE_URLS`',
    }),
  },
)

export interface ClusterSettings {
  /** How other nodes reach this one; null for a process that is alone on its database. */
  readonly nodeUrl: string | null
  /** The databases of the cells beside `main`, in their order. */
  readonly cellDatabaseUrls: readonly string[]
  readonly cellDatabaseAuthToken: string | null
}

interface Surroundings {
  readonly data: DataSettings
  readonly listening: Pick<ListeningSettings, 'takeOver'>
  readonly payments: PaymentSettings
  readonly social: SocialConfig
}

export function clusterSettings(read: Read, { data, listening, payments, social }: Surroundings): ClusterSettings {
  const { NODE_URL, CELL_DATABASE_URLS, CELL_DATABASE_AUTH_TOKEN } = CLUSTER.settings
  const url = NODE_URL.of(read)
  const cells = {
    cellDatabaseUrls: CELL_DATABASE_URLS.of(read) ?? [],
    cellDatabaseAuthToken: CELL_DATABASE_AUTH_TOKEN.of(read),
  }
  const isDivided = cells.cellDatabaseUrls.length > 0
  if (isDivided && url === null)
    throw new ConfigError('CELL_DATABASE_URLS needs NODE_URL, because nodes share the cells: set it, or unset both')
  if (url === null) return { nodeUrl: null, ...cells }
  if (cells.cellDatabaseUrls.some((cell) => cell === data.databaseUrl))
    throw new ConfigError('CELL_DATABASE_URLS must not name DATABASE_URL: it is the first cell already')
  if (data.databaseUrl.startsWith('file:'))
    throw new ConfigError(
      'NODE_URL needs a database that other nodes can reach, not a file: set DATABASE_URL to a libSQL server, such as DATABASE_URL=libsql://db.example.com, or unset NODE_URL',
    )
  if (payments.rail === 'sandbox' || social.provider === 'sandbox')
    throw new ConfigError(
      'NODE_URL cannot be combined with a sandbox, because each sandbox is in the memory of one process: set PAYMENTS=off and SOCIAL_PROVIDER=none, or real ones',
    )
  if (listening.takeOver)
    throw new ConfigError('TAKE_OVER must be false with NODE_URL, because nodes hand over to each other by themselves')
  return { nodeUrl: url, ...cells }
}

function cellUrls(entries: readonly string[], name: string): readonly string[] {
  const isServer = (entry: string) => /^(?:libsql|https?):\/\/./.test(entry)
  // A URL may contain a token, so the message repeats none.
  if (!entries.every(isServer))
    throw invalidSetting(name, 'URLs of libSQL servers such as libsql://cell-2.internal', null)
  if (new Set(entries).size < entries.length) throw invalidSetting(name, 'a different database for each cell', null)
  return entries
}

function nodeUrl(value: string, name: string): string {
  const url = URL.parse(value)
  const isOrigin =
    url &&
    /^https?:$/.test(url.protocol) &&
    [url.pathname, url.search, url.hash, url.username, url.password].join('') === '/'
  if (!isOrigin)
    throw invalidSetting(name, 'an origin such as http://10.0.0.5:3000 or https://node1.example.com', value)
  if (url.protocol === 'http:' && isPublicAddress(url.hostname))
    throw invalidSetting(name, "https, or an address in a private network: other nodes send callers' keys to it", value)
  return url.origin
}

/** Of names nothing is known: they may be of a private network. */
function isPublicAddress(hostname: string): boolean {
  const address = parseAddress(hostname.replace(/^\[(.*)\]$/, '$1'))
  if (address === null) return false
  if (address.family === 6) {
    const first = Number(address.bits >> 112n)
    return address.bits !== 1n && (first & 0xfe00) !== 0xfc00 && (first & 0xffc0) !== 0xfe80
  }
  const [a, b] = [address.bits >>> 24, (address.bits >>> 16) & 0xff]
  const isPrivate = a === 10 || a === 127 || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168)
  return !isPrivate && !(a === 169 && b === 254) && !(a === 100 && b >= 64 && b < 128)
}
