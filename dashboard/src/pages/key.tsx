import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { asFailure } from '../api/failure.ts'
import { type ApiKey, keyQuery } from '../api/keys.ts'
import { type KeyDialog, keyActs } from '../features/keys/key-actions.ts'
import { KeyActivity } from '../features/keys/key-activity.tsx'
import { KeyStatusBadge, keyHint } from '../features/keys/key-facts.tsx'
import { KeyFigures } from '../features/keys/key-figures.tsx'
import { KeyGrace } from '../features/keys/key-grace.tsx'
import { KeyHistory } from '../features/keys/key-history.tsx'
import { KeySettingsCard } from '../features/keys/key-settings.tsx'
import { useKeyActions } from '../features/keys/use-key-doings.ts'
import { KeyAccount } from '../features/social/key-account.tsx'
import { KEY_TEXT as TEXT } from '../messages/keys.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Button } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { Failed, Loading } from '../ui/states.tsx'

const KeyDialogs = lazy(() =>
  import('../features/keys/key-dialogs.tsx').then(({ KeyDialogs }) => ({ default: KeyDialogs })),
)

/** One key: what it spent, what it may, what was done to it. */
export function KeyPage() {
  const { id } = useParams({ from: '/shell/keys/$id' })
  const asked = useQuery(keyQuery(id))
  const { data, error } = asked
  return (
    <div className="grid gap-4">
      <Link to="/keys" className="inline-flex items-center gap-1 text-accent">
        <ArrowLeft size={16} aria-hidden />
        {TEXT.back}
      </Link>
      {data ? (
        <Shown apiKey={data.key} />
      ) : (
        <Page title={SHELL_TEXT.pagesOf.keys}>
          {error ? <Failed failure={asFailure(error)} onTryAgain={() => void asked.refetch()} /> : <Loading />}
        </Page>
      )}
    </div>
  )
}

function Shown({ apiKey }: { apiKey: ApiKey }) {
  const [dialog, setDialog] = useState<KeyDialog | null>(null)
  const doings = useKeyActions(setDialog)
  return (
    <Page
      title={apiKey.name}
      lead={
        <span className="flex flex-wrap items-center gap-3">
          <KeyStatusBadge apiKey={apiKey} />
          <span className="code">{keyHint(apiKey)}</span>
        </span>
      }
      actions={keyActs(apiKey).map(({ label, danger, act }) => (
        <Button key={label} className={danger ? 'text-bad' : undefined} onClick={() => act(apiKey, doings)}>
          {label}
        </Button>
      ))}
    >
      <KeyGrace apiKey={apiKey} />
      <KeyFigures apiKey={apiKey} />
      <KeySettingsCard apiKey={apiKey} />
      <KeyAccount keyId={apiKey.id} />
      <KeyActivity id={apiKey.id} />
      <KeyHistory id={apiKey.id} />
      {dialog && (
        <Suspense>
          <KeyDialogs dialog={dialog} onClose={() => setDialog(null)} />
        </Suspense>
      )}
    </Page>
  )
}
