import type { Config } from '../config'
import type { Clock } from '../core/clock'
import type { Opening } from '../core/cluster/opening'
import type { DayClosing } from '../core/ledger/day-closing'
import { formatUsd } from '../core/money'
import type { Telemetry } from '../core/telemetry/telemetry'
import { startDayClosings } from '../jobs/day-closings'
import type { Log } from '../log'
import { Drains } from '../pipeline/drains'
import { OpenCalls } from '../pipeline/open-calls'
import type { PipelineDeps } from '../pipeline/paid-call'
import type { Cell } from './cell'
import { composeBilling } from './payments/billing'
import { composeRetention } from './retention'
import { composeWebhooks } from './webhooks'

type BillingNeeds = Parameters<typeof composeBilling>[1]
type RetentionNeeds = Parameters<typeof composeRetention>[1]
type WebhookNeeds = Parameters<typeof composeWebhooks>[1]

type Needs = Pick<Cell, 'ledger' | 'journal' | 'charges' | 'limiter' | 'credentials'> &
  Pick<PipelineDeps, 'prices'> &
  Pick<WebhookNeeds, 'apps' | 'mailer'> & {
    readonly stores: BillingNeeds['stores'] &
      WebhookNeeds['stores'] &
      RetentionNeeds['stores'] & { readonly dayClosing: DayClosing }
    readonly operator: BillingNeeds['operator']
    readonly telemetry: Telemetry
    /** How much of an upstream's concurrency is this gateway's. */
    readonly shareOf: (cap: number) => number
    readonly brakeShareOf: BillingNeeds['brakeShareOf']
    /** Whether other cells have accounts, too. */
    readonly hasOtherCells: boolean
    readonly beside?: BillingNeeds['beside']
    readonly maySend?: BillingNeeds['maySend']
    readonly clock: Clock
    /** Monotonic. */
    readonly stopwatch: Clock
    readonly log: Log
    readonly opening: Opening
  }

/** Starts what runs for a cell as long as this process owns it: calls, money that comes in, events that go out, and old rows. */
export async function startCell(config: Config, needs: Needs) {
  const billing = await composeBilling(config, needs)
  const pipeline = pipelineDeps(needs, billing)
  const webhooks = composeWebhooks(config, needs)
  const retention = composeRetention(config, needs)
  const { stores, clock, stopwatch, log, opening } = needs
  const closings = opening.job(() => startDayClosings({ closing: stores.dayClosing, clock, stopwatch }, log))
  return {
    ...{ billing, pipeline, webhooks, retention },
    /** Ends the jobs. Calls must have ended before: `pipeline.openCalls`. */
    async close() {
      await Promise.all([webhooks.close(), billing.close(), retention.close(), closings.close()])
    },
  }
}

/** What every paid call runs on. */
function pipelineDeps(
  { ledger, journal, charges, limiter, prices, clock, telemetry, log, shareOf }: Needs,
  { funding, idempotency }: Pick<PipelineDeps, 'funding' | 'idempotency'>,
): PipelineDeps {
  return {
    ...{ limiter, ledger, journal, charges, prices, clock, funding, idempotency, telemetry },
    drains: new Drains(shareOf),
    openCalls: new OpenCalls(),
    onTrouble: (provider, reason) => log.warn('upstream', { provider, reason }),
    onOverrun: (requestId, model, amount) =>
      log.error('a model call cost more than was held; the gateway bears the difference', {
        ...{ requestId, model },
        usd: formatUsd(amount),
      }),
  }
}
