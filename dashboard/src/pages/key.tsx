import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { listState } from '../api/client/list-state.ts'
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
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { BackLink } from '../ui/layout/back-link.tsx'
import { DangerZone, DetailPage } from '../ui/layout/detail-page.tsx'
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
  return (
    <DetailPage
      back={<BackLink to="/keys">{TEXT.back}</BackLink>}
      title={SHELL_TEXT.pagesOf.keys}
      data={query.data}
      {...listState(query)}
    >
      {({ key }) => <KeyDetails apiKey={key} />}
    </DetailPage>
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
  const [safe, dangerous] = [false, true].map((danger) =>
    availableActions(apiKey, actions).filter((action) => (action.danger ?? false) === danger),
  )
  return (
    <Page
      title={apiKey.name}
      lead={
        <span className="flex flex-wrap items-center gap-3">
          <KeyStatusBadge apiKey={apiKey} />
          <span className="code">{keyHint(apiKey)}</span>
        </span>
      }
      actions={safe?.map(({ label, run }) => (
        <Button key={label} onClick={() => run(apiKey, actions)}>
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
      <DangerZone
        actions={(dangerous ?? []).map(({ label, run }) => ({
          label,
          text: TEXT.revokeText,
          onSelect: () => run(apiKey, actions),
        }))}
      />
      {dialog && <KeyDialogs dialog={dialog} onClose={close} />}
    </Page>
  )
}
