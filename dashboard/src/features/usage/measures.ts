import type { UsageSums } from '../../api/usage.ts'
import type { UsageView } from '../../api/views/usage-view.ts'
import { costUsd, shortCount } from '../../ui/money.ts'

/** What a chart shows of the sums of a bucket. */
export function measured(measure: UsageView['measure'], sums: UsageSums | undefined): number {
  if (!sums) return 0
  switch (measure) {
    case 'spend':
      return sums.charged_micros_usd
    case 'requests':
      return sums.requests
    case 'errors':
      return sums.failed_requests
    case 'tokens':
      return sums.input_tokens + sums.output_tokens
    case 'input':
      return sums.input_tokens
    case 'output':
      return sums.output_tokens
    case 'cached':
      return sums.cache_read_tokens
  }
}

export function measureWords(measure: UsageView['measure'], value: number): string {
  return measure === 'spend' ? costUsd(Math.round(value)) : shortCount(Math.round(value))
}
