import { parsedArgsWith } from '../command'
import { PROGRAM } from '../program'
import type { Terminal } from '../terminal'

const USAGE = `[--primary https://HOST:WORKERS_PORT[,https://...]]

Serves paid calls on PORT, and asks the primary about each, until SIGINT or SIGTERM. It needs WORKER_CREDENTIAL, which
"${PROGRAM} operator workers add NAME" prints on the primary. HOST, PORT and LOG_... are its own; the primary has all other settings.

  --primary   where the primary listens for workers (default: PRIMARY)
`

/** Becomes a worker. Resolves at once; the process serves until it is told to end. */
export async function workerCommand(args: readonly string[], { out }: Pick<Terminal, 'out'>): Promise<void> {
  const options = { primary: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
  const { primary, help } = parsedArgsWith(args, options, false).values
  if (help) return out(`Usage: ${PROGRAM} worker ${USAGE}`)
  if (primary !== undefined) process.env['PRIMARY'] = primary
  await import('../../worker-process')
}
