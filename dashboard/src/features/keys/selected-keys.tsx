import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { failureFrom } from '../../api/client/failure.ts'
import { disableKeys } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { useKeysRefresh } from './use-key-actions.ts'

/**
 * Actions on the selected keys. Asks before it disables them, and names each that could not be disabled, also once a filter
 * no longer lists them.
 */
export function SelectedKeys({ ids, onAll, onDisable, onClear }: SelectedKeysProps) {
  const [askedAbout, setAskedAbout] = useState<string | null>(null)
  const selected = [...ids]
  const asking = askedAbout === selected.join()
  const disabling = useMutation({ mutationFn: disableKeys, ...useKeysRefresh() })
  const isOfThese = selected.every((id) => disabling.variables?.includes(id))
  const done = isOfThese ? disabling.data?.results : undefined
  const disable = () => {
    onDisable()
    disabling.mutate(selected, { onSuccess: () => setAskedAbout(null) })
  }
  const refused = done?.filter(({ error }) => error !== null) ?? []
  return (
    <section
      aria-label={TEXT.selected(ids.size)}
      className="grid gap-2 border-t border-line bg-sunken px-4 py-3 sm:px-6"
    >
      <div className="flex flex-wrap items-center gap-2">
        <p role="status" className="mr-auto font-medium">
          {done ? TEXT.disabledMany(done.length - refused.length) : TEXT.selected(ids.size)}
        </p>
        {asking ? (
          <>
            <span className="text-muted">{TEXT.disableManyText}</span>
            <Button tone="danger" busy={disabling.isPending} onClick={disable}>
              {TEXT.disableMany(ids.size)}
            </Button>
            <Button onClick={() => setAskedAbout(null)}>{TEXT.cancel}</Button>
          </>
        ) : (
          <>
            <Button onClick={onAll}>{TEXT.selectAll}</Button>
            {ids.size > 0 && <Button onClick={() => setAskedAbout(selected.join())}>{TEXT.disableSelected}</Button>}
            <Button tone="quiet" onClick={onClear}>
              {TEXT.clearSelection}
            </Button>
          </>
        )}
      </div>
      {refused.length > 0 && (
        <ul className="small text-bad">
          {refused.map(({ id, error }) => (
            <li key={id}>
              <span className="code">{id}</span>: {error?.message}
            </li>
          ))}
        </ul>
      )}
      <FormFailure failure={failureFrom(disabling)} />
    </section>
  )
}

type SelectedKeysProps = {
  ids: ReadonlySet<string>
  onAll: () => void
  /** They are being disabled: the panel has something to tell until `onClear`. */
  onDisable: () => void
  onClear: () => void
}
