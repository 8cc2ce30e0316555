import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useBlocker, useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { toApiFailure } from '../api/client/failure.ts'
import { createKey, keyNamesQuery } from '../api/keys.ts'
import { FirstRunSteps } from '../features/first-run/first-run-steps.tsx'
import { FIRST_RUN_TEXT as TEXT } from '../messages/first-run.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { Failed } from '../ui/feedback/failure.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { Page } from '../ui/layout/page.tsx'

const LeaveWithoutKey = lazyPart(() =>
  import('../features/first-run/leave-without-key.tsx').then(({ LeaveWithoutKey }) => LeaveWithoutKey),
)

/** `/welcome`: creates the first key of an account without keys, shows it, and guides to the first request. */
export function Welcome() {
  const names = useQuery(keyNamesQuery)
  const making = useMutation({ mutationFn: () => createKey({ name: TEXT.keyName }) })
  const started = useRef(false)
  const none = names.data?.names.length === 0
  const { mutate } = making
  useEffect(() => {
    // Creates only one key, even if React runs the effect twice.
    if (!none || started.current) return
    started.current = true
    mutate()
  }, [none, mutate])
  if (making.data) return <NewKey keyId={making.data.key.id} secret={making.data.secret} />
  const error = making.error ?? names.error
  if (error)
    return (
      <Page title={SHELL_TEXT.pagesOf.welcome}>
        <Failed failure={toApiFailure(error)} onRetry={() => (making.error ? mutate() : void names.refetch())} />
      </Page>
    )
  if (names.data && !none && !started.current) return <AlreadyCreated />
  return (
    <Page title={SHELL_TEXT.pagesOf.welcome}>
      <Loading />
    </Page>
  )
}

function NewKey({ keyId, secret }: { keyId: string; secret: string }) {
  const [saved, setSaved] = useState(false)
  const navigate = useNavigate()
  const blocker = useBlocker({ shouldBlockFn: () => !saved, enableBeforeUnload: () => !saved, withResolver: true })
  return (
    <Page
      title={SHELL_TEXT.pagesOf.welcome}
      lead={TEXT.lead}
      actions={<Button onClick={() => void navigate({ to: '/' })}>{TEXT.toDashboard}</Button>}
    >
      <div className="max-w-2xl">
        <FirstRunSteps keyId={keyId} secret={secret} onSaved={() => setSaved(true)} />
      </div>
      {blocker.status === 'blocked' && (
        <LeaveWithoutKey secret={secret} onStay={blocker.reset} onFieldBlur={blocker.proceed} />
      )}
    </Page>
  )
}

function AlreadyCreated() {
  return (
    <Page title={TEXT.alreadyTitle}>
      <p className="text-muted">{TEXT.already}</p>
      <div>
        <Link to="/keys" className={buttonClass('primary')}>
          {TEXT.toKeys}
        </Link>
      </div>
    </Page>
  )
}
