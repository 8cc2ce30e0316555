import { formatUsd } from '../core/money'
import type { Log } from '../log'
import { Drains } from '../pipeline/drains'
import { OpenCalls } from '../pipeline/open-calls'
import type { PipelineDeps } from '../pipeline/paid-call'

type Needs = Omit<PipelineDeps, 'drains' | 'openCalls' | 'onTrouble' | 'onOverrun'>

/** What every paid call runs on. */
export function composePipeline(needs: Needs, log: Log): PipelineDeps {
  return {
    ...needs,
    drains: new Drains(),
    openCalls: new OpenCalls(),
    onTrouble: (provider, reason) => log.warn('upstream', { provider, reason }),
    onOverrun: (requestId, model, amount) =>
      log.error('a model call cost more than was held; the gateway bears the difference', {
        requestId,
        model,
        usd: formatUsd(amount),
      }),
  }
}
