import { executeOn } from '../databases/database-file'
import { reconcile } from '../reconcile'
import { dataFolder, removeFolder, type ServerProcess, startServer } from '../servers/server-process'
import { MERCHANT, openPaymentSandbox } from './payment-sandbox'

const PATH = '/apis/v1/websearch/images/search?q=card'
/** The price of one call in the token's units. */
const PRICE = 5000n

/** How somebody pays. */
export interface Payer {
  /** The header that a payment goes in. */
  readonly header: 'authorization' | 'payment-signature' | 'x-payment'
  /** The payment that answers a 402. */
  buy(challenged: Response): Promise<string>
}

/** A network that a server can be paid over, and a payer. */
export interface PaidNetwork extends Payer {
  /** Those who pay over it in other ways, by name. */
  readonly others?: Readonly<Record<string, Payer>>
  /** The settings with which a server offers it. */
  readonly env: Readonly<Record<string, string>>
  /** The paid call; an image search at `PRICE` if absent. */
  readonly sold?: { readonly path: string; readonly price: bigint; prepare(folder: string): Promise<void> }
  freezeAt(method: string, after: boolean): Promise<void>
  balance(of: string): Promise<bigint>
  close(): Promise<void>
}

async function openTempo() {
  const sandbox = await openPaymentSandbox()
  const buy = (challenged: Response) => sandbox.payer().createCredential(challenged)
  return { ...sandbox, header: 'authorization' as const, buy }
}

/** The real server on a chain of its own, to be killed and started again, and a payer. */
export async function openPayingServer(env: Record<string, string> = {}, open: () => Promise<PaidNetwork> = openTempo) {
  const sandbox = await open()
  const folder = await dataFolder()
  const settings = { ...env, ...sandbox.env }
  const { path = PATH, price = PRICE, prepare } = sandbox.sold ?? {}
  await prepare?.(folder)
  let server: ServerProcess = await startServer(folder, settings)
  return {
    sandbox,
    price,
    databaseFile: `${folder}/gateway.db`,
    kill: (signal: NodeJS.Signals) => server.kill(signal),
    async start() {
      server = await startServer(folder, settings)
    },
    /** Where the server that runs now has this path. */
    addressOf: (path: string) => server.url + path,
    /** A credential for the call, as a payer makes it from the 402. */
    bought: async ({ buy }: Payer = sandbox) => buy(await fetch(`${server.url}${path}`)),
    paying: (credential: string, { header }: Pick<Payer, 'header'> = sandbox, signal?: AbortSignal) =>
      fetch(`${server.url}${path}`, { headers: { [header]: credential }, ...(signal && { signal }) }),
    received: () => sandbox.balance(MERCHANT),
    /** How many payments the database has in each state, read past the server. */
    async states(): Promise<Record<string, number>> {
      const rows = await executeOn(
        `${folder}/gateway.db`,
        'SELECT state, count(*) AS number FROM payments GROUP BY state',
      )
      return Object.fromEntries(rows.map(({ state, number }) => [String(state), Number(number)]))
    },
    /** Stops it, and gives what of the books does not agree. */
    async close(): Promise<readonly string[]> {
      await server.kill('SIGTERM')
      const { problems } = await reconcile(`${folder}/gateway.db`)
      await removeFolder(folder)
      await sandbox.close()
      return problems
    },
  }
}

/** How a call ended whose server is killed meanwhile. */
export function cutOff(call: Promise<Response>): Promise<'answered' | 'cut off'> {
  return call.then(
    () => 'answered',
    () => 'cut off',
  )
}

export async function codeOf(answer: Response): Promise<string | undefined> {
  return ((await answer.json()) as { error?: { code: string } }).error?.code
}
