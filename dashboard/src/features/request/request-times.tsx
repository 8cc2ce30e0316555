import type { Explained } from '../../api/requests.ts'
import { REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { Card } from '../../ui/layout/card.tsx'

const CACHE = 'cache'

interface Step {
  readonly name: string
  readonly about: string
  readonly ms: number
}

/** The steps of a request one after the other, as bars on one scale. */
export function RequestTimes({ request }: { request: Explained }) {
  const total = request.times.total_ms
  const steps = stepsOf(request)
  const starts = steps.map((_, at) => steps.slice(0, at).reduce((sum, { ms }) => sum + ms, 0))
  return (
    <Card title={TEXT.times} aside={<span className="font-medium">{TEXT.latency(total)}</span>}>
      <ol className="grid gap-4">
        {steps.map(({ name, about, ms }, at) => (
          <li key={name} className="grid gap-1">
            <div className="flex items-baseline justify-between gap-4">
              <span className="font-medium">{name}</span>
              <span className="whitespace-nowrap">{TEXT.latency(ms)}</span>
            </div>
            <div aria-hidden className="h-2 overflow-hidden rounded-full bg-sunken">
              <div
                className="h-full min-w-0.5 rounded-full bg-accent"
                style={{ marginLeft: share(starts[at] ?? 0, total), width: share(ms, total) }}
              />
            </div>
            <p className="small text-muted">{about}</p>
          </li>
        ))}
      </ol>
    </Card>
  )
}

function stepsOf({ provider, times }: Explained): readonly Step[] {
  const { waiting_ms: before, upstream_ms: upstream, total_ms: total } = times
  const { steps } = TEXT
  if (before === null || upstream === null) return [{ name: steps.whole, about: steps.wholeText, ms: total }]
  return [
    { name: steps.before, about: steps.beforeText, ms: before },
    {
      name: steps.upstream(provider ?? '-'),
      about: provider === CACHE ? steps.cacheText : steps.upstreamText,
      ms: upstream,
    },
  ]
}

function share(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.min(100, (part / whole) * 100)}%`
}
