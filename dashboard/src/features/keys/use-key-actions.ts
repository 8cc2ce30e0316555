import { type InfiniteData, useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { toApiFailure } from '../../api/client/failure.ts'
import { type ApiKey, changeKey, disableKey, enableKey } from '../../api/keys.ts'
import { FAILURE_TEXT } from '../../messages/failures.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'

import { toast } from '../../ui/feedback/toast.ts'
import type { KeyActions, KeyDialog } from './key-actions.ts'
import { useTeam } from './use-team.ts'

const WEEK_MS = 7 * 24 * 60 * 60 * 1000

interface ListPage {
  readonly keys: readonly ApiKey[]
}

/** The actions on keys, for any page that shows them. */
export function useKeyActions(open: (dialog: KeyDialog) => void): KeyActions {
  const navigate = useNavigate()
  const toggle = useToggle()
  const { mayGive } = useTeam()
  const later = useMutation({
    mutationFn: (key: ApiKey) => changeKey(key.id, { stops_at: new Date(Date.now() + WEEK_MS).toISOString() }),
    onSuccess: () => toast(TEXT.keptLonger),
    onError: (error) => toast(FAILURE_TEXT.couldNotSave(toApiFailure(error).message), { bad: true }),
    ...useKeysRefresh(),
  })
  return {
    open,
    mayGive,
    toggle: (key) => toggle(key, key.status !== 'disabled', true),
    keepLonger: (key) => later.mutate(key),
    viewUsage: ({ id }) => void navigate({ to: '/usage', search: { key: id } }),
  }
}

/** Refreshes all keys after a change, whether or not it succeeded. */
export function useKeysRefresh() {
  const queries = useQueryClient()
  return {
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: ['keys'] })
      await queries.invalidateQueries({ queryKey: ['key-names'] })
    },
  }
}

/** Updates optimistically, offers undo, and reverts if the server refuses the change. */
function useToggle() {
  const queries = useQueryClient()
  const { onSettled } = useKeysRefresh()
  const mutation = useMutation({
    mutationFn: ({ key, off }: { key: ApiKey; off: boolean; withUndo: boolean }) =>
      off ? disableKey(key.id) : enableKey(key.id),
    onMutate: async ({ key, off }) => {
      await queries.cancelQueries({ queryKey: ['keys'] })
      const before = queries.getQueriesData({ queryKey: ['keys'] })
      const shown = (one: ApiKey): ApiKey => (one.id === key.id ? { ...one, status: off ? 'disabled' : 'active' } : one)
      queries.setQueriesData<InfiniteData<ListPage>>({ queryKey: ['keys', 'list'] }, (data) =>
        data ? { ...data, pages: data.pages.map((page) => ({ ...page, keys: page.keys.map(shown) })) } : data,
      )
      queries.setQueryData<{ key: ApiKey }>(
        ['keys', 'one', key.id],
        (data) => data && { ...data, key: shown(data.key) },
      )
      return { before }
    },
    onError: (error, _asked, context) => {
      for (const [queryKey, data] of context?.before ?? []) queries.setQueryData(queryKey, data)
      void toast(FAILURE_TEXT.couldNotSave(toApiFailure(error).message), { bad: true })
    },
    onSuccess: (_answer, { key, off, withUndo }) => {
      const undo = { label: TEXT.undo, onClick: () => mutation.mutate({ key, off: !off, withUndo: false }) }
      void toast(off ? TEXT.disabled : TEXT.enabled, { action: withUndo ? undo : null })
    },
    onSettled,
  })
  return (key: ApiKey, off: boolean, withUndo: boolean) => mutation.mutate({ key, off, withUndo })
}
