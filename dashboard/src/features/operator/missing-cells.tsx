import { useQueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'

/** Says that what is shown is without some cells, because they did not answer (`missing_cells` of any report on the page). */
export function MissingCells() {
  const cache = useQueryClient().getQueryCache()
  const names = useSyncExternalStore(
    (onChange) => cache.subscribe(onChange),
    () =>
      [...new Set(cache.findAll({ type: 'active' }).flatMap(({ state }) => missingIn(state.data)))].sort().join(', '),
  )
  if (names === '') return null
  return (
    <p role="status" className="rounded-xl bg-warn-soft px-4 py-3 text-warn">
      {TEXT.missingCells(names)}
    </p>
  )
}

/** In an answer, or in the pages of a list. */
function missingIn(data: unknown): readonly string[] {
  const pages: unknown = Reflect.get(Object(data), 'pages')
  if (Array.isArray(pages)) return pages.flatMap(missingIn)
  const names: unknown = Reflect.get(Object(data), 'missing_cells')
  return Array.isArray(names) ? names.map(String) : []
}
