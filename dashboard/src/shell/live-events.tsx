import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { subscribeToEvents } from '../api/client/live-events.ts'

/** Follows the live events while the shell is open. */
export function LiveEvents() {
  const queries = useQueryClient()
  useEffect(() => subscribeToEvents(queries), [queries])
  return null
}
