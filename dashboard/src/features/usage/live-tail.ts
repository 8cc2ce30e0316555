import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { onLiveCall } from '../../api/client/live-calls.ts'
import { type LoggedRequest, newestBeforeQuery, type RequestsFilter } from '../../api/requests.ts'

/** More rows than this would only scroll by. */
const MAX_ROWS = 200
/** How often new rows are drawn. */
const DRAW_MS = 250
const TAG_POLL_MS = 2_000

/** The newest calls that match a filter, as they happen. While it is paused, new ones wait and are counted. */
export function useLiveTail(filter: RequestsFilter) {
  const { key, tag, operation, status, model } = filter
  const [live, setLive] = useState<readonly LoggedRequest[]>([])
  const [waiting, setWaiting] = useState<readonly LoggedRequest[]>([])
  const [isPaused, setPaused] = useState(false)
  // An event does not say which tags its key has.
  const refetchInterval = tag === undefined || isPaused ? false : TAG_POLL_MS
  const newest = useQuery({ ...newestBeforeQuery({ key, tag, operation, status, model }), refetchInterval })
  useEffect(() => {
    setLive([])
    setWaiting([])
    let arrived: LoggedRequest[] = []
    const draw = setInterval(() => {
      if (arrived.length === 0) return
      const drawn = arrived
      arrived = []
      setWaiting((before) => newestOf([...drawn, ...before]))
    }, DRAW_MS)
    const stop = onLiveCall((call) => {
      if (tag === undefined && matches(call, { key, operation, status, model }))
        arrived = [call, ...arrived].slice(0, MAX_ROWS)
    })
    return () => {
      clearInterval(draw)
      stop()
    }
  }, [key, tag, operation, status, model])
  useEffect(() => {
    if (isPaused || waiting.length === 0) return
    setLive((before) => newestOf([...waiting, ...before]))
    setWaiting([])
  }, [isPaused, waiting])
  const rows = useMemo(
    () => newest.data && newestOf([...live, ...newest.data.filter(({ id }) => !waiting.some((one) => one.id === id))]),
    [live, newest.data, waiting],
  )
  return { newest, rows, waiting: waiting.length, isPaused, togglePause: () => setPaused((before) => !before) }
}

function matches(call: LoggedRequest, { key, operation, status, model }: RequestsFilter): boolean {
  return (
    (key === undefined || call.key_id === key) &&
    (operation === undefined || call.operation === operation) &&
    (status === undefined || call.status === status) &&
    (model === undefined || call.model === model)
  )
}

/** Each call once, newest first. */
function newestOf(calls: readonly LoggedRequest[]): readonly LoggedRequest[] {
  const byId = new Map(calls.map((call) => [call.id, call]))
  return [...byId.values()]
    .sort((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0))
    .slice(0, MAX_ROWS)
}
