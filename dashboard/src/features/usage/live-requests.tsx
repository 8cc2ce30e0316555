import { Pause, Play } from 'lucide-react'
import { listState } from '../../api/client/list-state.ts'
import type { RequestsFilter } from '../../api/requests.ts'
import { useKeyLabels } from '../../api/usage.ts'
import { REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { Button } from '../../ui/button.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { RequestLog } from '../../ui/requests/request-log.tsx'
import { useLiveTail } from './live-tail.ts'

/** The requests that match the filters of the page, as they happen. */
export function LiveRequests({ filter }: { filter: RequestsFilter }) {
  const { newest, rows, waiting, isPaused, togglePause } = useLiveTail(filter)
  const keyLabel = useKeyLabels()
  const Icon = isPaused ? Play : Pause
  return (
    <>
      <div className="flex flex-wrap items-center gap-3 px-4 pb-4 sm:px-6">
        <Button onClick={togglePause}>
          <Icon size={16} aria-hidden />
          {isPaused ? TEXT.resume : TEXT.pause}
        </Button>
        <p className="small text-muted">{isPaused ? TEXT.pausedWith(waiting) : TEXT.liveHint}</p>
      </div>
      <RequestLog
        caption={TEXT.liveTable}
        keyLabel={keyLabel}
        state={{ ...listState(newest), rows, more: null }}
        empty={<Empty>{TEXT.waitingForRequests}</Empty>}
      />
    </>
  )
}
