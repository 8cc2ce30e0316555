import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { toFailure } from '../api/client/failure.ts'
import { type ApiKey, keyQuery } from '../api/keys.ts'
import { KeyFigures } from '../features/keys/details/key-figures.tsx'
import { KeySettingsCard } from '../features/keys/details/key-settings.tsx'
import { OldKeyNotice } from '../features/keys/details/old-key-notice.tsx'
import { availableActions, editDialog, isEditable, type KeyDialog } from '../features/keys/key-actions.ts'
import { KeyStatusBadge, keyHint } from '../features/keys/key-facts.tsx'
import { useKeyActions } from '../features/keys/use-key-actions.ts'
import { KEY_TEXT as TEXT } from '../messages/keys.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Button } from '../ui/button.tsx'
import { Failed } from '../ui/feedback/failure.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { BackLink } from '../ui/layout/back-link.tsx'
import { Page } from '../ui/layout/page.tsx'

// Below the first figures, or on a tab of its own.
const KeyActivity = lazyPart(
  () => import('../features/keys/details/key-activity.tsx').then(({ KeyActivity }) => KeyActivity),
  {
    fallback: () => <Loading rows={6} />,
  },
)
const KeyHistory = lazyPart(
  () => import('../features/keys/details/key-history.tsx').then(({ KeyHistory }) => KeyHistory),
  {
    fallback: () => <Loading rows={6} />,
  },
)

const KeyDialogs = lazyPart(() => import('../features/keys/key-dialogs.tsx').then(({ KeyDialogs }) => KeyDialogs))

const KeyAccount = lazyPart(() => import('../features/social/key-account.tsx').then(({ KeyAccount }) => KeyAccount))

/** One key: its spend, limits, settings and history. */
export function KeyPage() {
  const { id } = useParams({ from: '/shell/keys/$id' })
  const query = useQuery(keyQuery(id))
  const { data, error } = query
  return (
    <div className="grid gap-4">
      <BackLink to="/keys">{TEXT.back}</BackLink>
      {data ? (
        <KeyDetails apiKey={data.key} />
      ) : (
        <Page title={SHELL_TEXT.pagesOf.keys}>
          {error ? <Failed failure={toFailure(error)} onRetry={() => void query.refetch()} /> : <Loading />}
        </Page>
      )}
    </div>
  )
}

function KeyDetails({ apiKey }: { apiKey: ApiKey }) {
  const [chosen, setDialog] = useState<KeyDialog | null>(null)
  const { form } = useSearch({ from: '/shell/keys/$id' })
  const navigate = useNavigate({ from: '/keys/$id' })
  const dialog = chosen ?? (form && isEditable(apiKey) ? editDialog(apiKey, form) : null)
  const close = () => {
    setDialog(null)
    if (form) void navigate({ search: {}, replace: true })
  }
  const actions = useKeyActions(setDialog)
  return (
    <Page
      title={apiKey.name}
      lead={
        <span className="flex flex-wrap items-center gap-3">
          <KeyStatusBadge apiKey={apiKey} />
          <span className="code">{keyHint(apiKey)}</span>
        </span>
      }
      actions={availableActions(apiKey).map(({ label, danger, run }) => (
        <Button key={label} tone={danger ? 'warning' : 'plain'} onClick={() => run(apiKey, actions)}>
          {label}
        </Button>
      ))}
    >
      <OldKeyNotice apiKey={apiKey} />
      <KeyFigures apiKey={apiKey} />
      <KeySettingsCard apiKey={apiKey} />
      <KeyAccount keyId={apiKey.id} />
      <KeyActivity id={apiKey.id} />
      <KeyHistory id={apiKey.id} />
      {dialog && <KeyDialogs dialog={dialog} onClose={close} />}
    </Page>
  )
}
