import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { defaultParseSearch, Link, useLocation } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { MAX_VIEW_NAME, MAX_VIEWS } from '../../../../server/core/accounts/account-settings.ts'
import { changeSettings, type SavedView, settingsQuery } from '../../api/account/settings.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { VIEWS_TEXT as TEXT } from '../../messages/views.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { BUTTON_ROW } from '../../ui/dialogs/dialog-props.ts'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Field } from '../../ui/field.tsx'

/** The saved views of a page, and a form to save the current one. */
export function ViewsDialog({ page, onClose }: { page: SavedView['page']; onClose: () => void }) {
  const { views, change, failure } = useSavedViews()
  const own = views?.filter((view) => view.page === page)
  return (
    <Dialog title={TEXT.open} onClose={onClose}>
      <div className="grid gap-4">
        <p className="text-muted">{TEXT.lead}</p>
        {own === undefined && <Loading rows={2} />}
        {own?.length === 0 && <p>{TEXT.none}</p>}
        {own !== undefined && own.length > 0 && (
          <ul aria-label={TEXT.list} className="grid gap-1">
            {own.map((view) => (
              <li key={view.name} className="flex items-center justify-between gap-3">
                <Link
                  to={page === 'keys' ? '/keys' : '/usage'}
                  search={defaultParseSearch(view.query)}
                  onClick={onClose}
                  className="min-w-0 font-medium wrap-anywhere text-accent hover:underline"
                >
                  {view.name}
                </Link>
                <Button
                  tone="quiet"
                  aria-label={TEXT.removeOf(view.name)}
                  onClick={() => change((all) => all.filter((one) => one.page !== page || one.name !== view.name))}
                >
                  {TEXT.remove}
                </Button>
              </li>
            ))}
          </ul>
        )}
        <NewView page={page} isFull={(views?.length ?? 0) >= MAX_VIEWS} onSave={change} />
        <FormFailure failure={failure} />
        <div className={BUTTON_ROW}>
          <Button onClick={onClose}>{TEXT.done}</Button>
        </div>
      </div>
    </Dialog>
  )
}

function NewView({ page, isFull, onSave }: NewViewProps) {
  const query = savedPart(useLocation({ select: ({ searchStr }) => searchStr }))
  const [name, setName] = useState('')
  const [error, setError] = useState<string>()
  if (query === '') return <p className="text-muted">{TEXT.noFilter}</p>
  if (isFull) return <p className="text-muted">{TEXT.full}</p>
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const trimmed = name.trim()
    if (trimmed === '' || [...trimmed].length > MAX_VIEW_NAME) return setError(TEXT.nameWrong)
    // A view with this name is replaced.
    setError(undefined)
    onSave(
      (all) => [...all.filter((one) => one.page !== page || one.name !== trimmed), { name: trimmed, page, query }],
      () => {
        setName('')
        void toast(TEXT.saved(trimmed))
      },
    )
  }
  return (
    <form onSubmit={submit} noValidate className="grid gap-3">
      <Field label={TEXT.name} hint={TEXT.nameHint} error={error}>
        {(control) => (
          <input {...control} autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
      <div>
        <Button tone="primary" type="submit">
          {TEXT.save}
        </Button>
      </div>
    </form>
  )
}

type Change = (next: (all: readonly SavedView[]) => readonly SavedView[], onDone?: () => void) => void
type NewViewProps = { page: SavedView['page']; isFull: boolean; onSave: Change }

/** The search part of an address without what belongs to one visit, such as an open form. */
function savedPart(search: string): string {
  const params = new URLSearchParams(search)
  params.delete('create')
  return params.toString()
}

function useSavedViews() {
  const queries = useQueryClient()
  const views = useQuery(settingsQuery).data?.saved_views
  const saving = useMutation({
    mutationFn: (saved_views: readonly SavedView[]) => changeSettings({ saved_views }),
    onSuccess: (settings) => queries.setQueryData(settingsQuery.queryKey, settings),
  })
  const change: Change = (next, onDone) => saving.mutate(next(views ?? []), { onSuccess: () => onDone?.() })
  return { views, change, failure: failureFrom(saving) }
}
