import type { Config } from './config'
import type { Listening } from './listen'
import type { ProcessLog } from './log'

/** Time for the last responses after streams were aborted. */
const LAST_RESPONSES_MS = 2_000
/** A call that takes its whole deadline ends within the default of DRAIN_SECONDS. */
const MARGIN_MS = 5_000

interface Running {
  readonly config: Pick<Config, 'drainNoticeSeconds' | 'drainSeconds'>
  readonly log: ProcessLog
  readonly web: Listening
  readonly gateway: {
    readonly stopping: { announce(): void; drain(): void }
    longestCallMs(): number
    streamsEnded(maxMs: number): Promise<void>
    close(): Promise<void>
  }
  /** Parts that end after the last call, in this order. */
  readonly closers: readonly (() => unknown)[]
}

/**
 * Stops the process in order: `/ready` says `draining` for DRAIN_NOTICE_SECONDS while calls are served as before, then the port closes, and
 * calls in progress have DRAIN_SECONDS to end. `hurry` ends the notice early.
 */
export async function stopInOrder(running: Running, signal: string, hurry: Promise<unknown>): Promise<void> {
  const { config, log, web, gateway, closers } = running
  gateway.stopping.announce()
  // Proxies keep connections open: each closes after its next response, so that none is cut while a request arrives.
  web.retireConnections()
  const noticeMs = config.drainNoticeSeconds * 1000
  if (noticeMs > 0) {
    log.info(`${signal}: stopping; new calls are served for the time of the notice`, { seconds: noticeMs / 1000 })
    await Promise.race([Bun.sleep(noticeMs), hurry])
  }
  web.closePort()
  gateway.stopping.drain()
  const drainMs = drainMsOf(config, gateway)
  log.info(`${signal}: finishing requests in progress`)
  const until = performance.now() + drainMs
  await gateway.streamsEnded(drainMs)
  await web.stop(Math.max(LAST_RESPONSES_MS, until - performance.now()))
  for (const close of closers) await close()
  log.flush()
  log.info('stopped')
}

/** How long a stop waits for calls in progress. */
export function drainMsOf(
  { drainSeconds }: Pick<Config, 'drainSeconds'>,
  { longestCallMs }: { longestCallMs(): number },
): number {
  return drainSeconds === null ? longestCallMs() + MARGIN_MS : drainSeconds * 1000
}
