/** A directory of services or tools, and what it would list of this gateway. */
export interface Listing {
  readonly directory: string
  readonly lists: readonly string[]
  /** Why it would list nothing, or what the operator must do first. Empty if nothing is in the way. */
  readonly problems: readonly string[]
}

/** The facts that decide about publication. */
export interface Published {
  /** The public origin. */
  readonly origin: string
  /** The names of the payment methods that are offered now. */
  readonly methods: readonly string[]
  /** Whether `tempo` is the local chain with worthless money. */
  readonly isSandbox: boolean
  /** The host of the facilitator that settles; null if the gateway settles by itself. */
  readonly facilitator: string | null
}

/** `server.json` of the MCP registry, which names a server by the domain of its owner in reverse. */
export function mcpServerJson(origin: string, version: string) {
  const { hostname } = new URL(origin)
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: `${hostname.split('.').reverse().join('.')}/gateway`,
    title: 'Paid data API gateway',
    description: 'Data, model and social APIs, paid per successful request under a spending cap.',
    version,
    websiteUrl: origin,
    remotes: [{ type: 'streamable-http', url: `${origin}/mcp` }],
  }
}

/** For each directory what it would list, and why not. */
export function listings({ origin, methods, isSandbox, facilitator }: Published): readonly Listing[] {
  const unreachable = originProblems(origin)
  const money = isSandbox ? methods.filter((name) => name !== 'tempo') : methods
  const noX402 = methods.includes('evm') ? [] : ['No x402 payment is offered: set PAYMENTS_EVM_* (docs/payments.md).']
  const noMoney = money.length > 0 ? [] : ['No payment in real money is offered: set PAYMENTS_* (docs/payments.md).']
  const listing = (directory: string, lists: readonly string[], problems: readonly string[]): Listing => ({
    directory,
    lists: problems.length === 0 ? lists : [],
    problems,
  })
  return [
    listing('MCP registry', [`${origin}/mcp, by ${origin}/.well-known/mcp/server.json`], unreachable),
    listing('directories that read /.well-known/x402', [`${origin}/.well-known/x402`], [...unreachable, ...noX402]),
    listing('MPP services', [`${origin}/openapi.json`, `${origin}/llms.txt`], [...unreachable, ...noMoney]),
    listing(
      'x402 Bazaar',
      facilitator === null ? [] : [`each resource, once ${facilitator} has settled a payment for it`],
      [...unreachable, ...noX402, ...(facilitator === null ? [SETTLES_ITSELF] : [])],
    ),
  ]
}

const SETTLES_ITSELF =
  'A Bazaar lists what its own facilitator has settled. This gateway settles by itself: set PAYMENTS_FACILITATOR_URL to be listed.'

function originProblems(origin: string): readonly string[] {
  const { protocol, hostname } = new URL(origin)
  const isName = hostname.includes('.') && !/^[\d.]+$/.test(hostname) && !hostname.startsWith('[')
  return [
    ...(protocol === 'https:' ? [] : [`BASE_URL is ${origin}: directories list https only.`]),
    ...(isName ? [] : [`BASE_URL names ${hostname}: directories need a public domain name.`]),
  ]
}
