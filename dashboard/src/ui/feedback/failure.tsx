import { Link, useLocation, useMatches, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { ApiFailure } from '../../api/client/failure.ts'
import {
  type FailurePlace,
  failureAction,
  type KeyFormName,
  type SingleAction,
  FAILURE_TEXT as TEXT,
} from '../../messages/failures.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { recentSignInRequired } from '../../session-state.ts'
import { useCountdown } from '../browser/use-countdown.ts'
import { Button, buttonClass } from '../button.tsx'
import { isKeyId } from '../requests/caller-link.tsx'

/** A list or card that failed to load: the server's message, and what to do next; by default, to try again. */
export function Failed({ failure, onRetry, isStale = false }: FailedProps) {
  return (
    <div className="grid justify-items-start gap-2 bg-bad-soft px-4 py-3 text-bad in-data-bare:first:rounded-t-xl sm:px-6">
      <div className="flex w-full flex-wrap items-center justify-between gap-3">
        <p role="alert" className="min-w-0">
          <Message failure={failure} /> {isStale && TEXT.stale}
        </p>
        {onRetry && <Button onClick={onRetry}>{UI_TEXT.tryAgain}</Button>}
      </div>
      <NextStep failure={failure} place="dashboard" />
    </div>
  )
}

type FailedProps = {
  failure: ApiFailure
  onRetry?: () => void
  /** Whether data from before the failure is still shown. */
  isStale?: boolean
}

/** A form that was refused: the server's message, and what to do next. */
export function FormFailure({ failure }: { failure: ApiFailure | null }) {
  if (failure === null) return null
  return (
    <div className="grid justify-items-start gap-2 rounded-md bg-bad-soft px-3 py-2 text-bad">
      <p role="alert">
        <Message failure={failure} />
      </p>
      <NextStep failure={failure} place="dashboard" />
    </div>
  )
}

/** The server's message, with the request id for the operator unless the message already contains it. */
function Message({ failure: { message, requestId } }: { failure: ApiFailure }) {
  if (requestId === null || message.includes(requestId)) return message
  return (
    <>
      {message} <span className="code wrap-anywhere">{TEXT.request(requestId)}</span>
    </>
  )
}

/** The time to wait, and the action for the code. */
export function NextStep({ failure, place }: { failure: ApiFailure; place: FailurePlace }) {
  const { left, start } = useCountdown()
  // Every new failure restarts the countdown, even with the same duration.
  useEffect(() => start(failure.retryAfterSeconds ?? 0), [failure])
  return (
    <>
      {left > 0 && <p>{TEXT.retryIn(left)}</p>}
      <ActionOf code={failure.code} place={place} />
    </>
  )
}

/** The action for a code, unless it leads to the current page. `caller`: the key or app that the request was charged to. */
export function ActionOf({ code, place, caller }: { code: string; place: FailurePlace; caller?: string | undefined }) {
  const action = failureAction(code, place)
  if (action?.kind === 'link' && action.keyForm && caller !== undefined)
    return <ToCaller label={action.label} form={action.keyForm} caller={caller} />
  if (action?.kind !== 'one_of') return <OneAction action={action} />
  return (
    <div className="flex flex-wrap gap-2">
      {action.actions.map((one) => (
        <OneAction key={one.kind} action={one} />
      ))}
    </div>
  )
}

/** Leads to the key itself, with the form that helps. The limits of an app are on the page of all apps. */
function ToCaller({ label, form, caller }: { label: string; form: KeyFormName; caller: string }) {
  if (!isKeyId(caller))
    return (
      <Link to="/apps" className={buttonClass()}>
        {TEXT.viewApp}
      </Link>
    )
  return (
    <Link to="/keys/$id" params={{ id: caller }} search={form === 'none' ? {} : { form }} className={buttonClass()}>
      {label}
    </Link>
  )
}

function OneAction({ action }: { action: SingleAction | null }) {
  const { routesByPath } = useRouter()
  const here = useLocation({ select: ({ pathname }) => pathname })
  if (action === null || (action.kind === 'link' && (action.to === here || !(action.to in routesByPath)))) return null
  return <Action action={action} />
}

function Action({ action }: { action: SingleAction }) {
  // The sign-in dialog belongs to the shell. Pages outside the shell redirect to the sign-in page when they load.
  const inShell = useMatches({ select: (matches) => matches.some(({ routeId }) => routeId === '/shell') })
  switch (action.kind) {
    case 'link':
      return (
        <Link to={action.to} className={buttonClass()}>
          {action.label}
        </Link>
      )
    case 'sign_in':
      return (
        <Button onClick={() => (inShell ? recentSignInRequired.set(true) : window.location.reload())}>
          {action.label}
        </Button>
      )
    case 'reload':
      return <Button onClick={() => window.location.reload()}>{action.label}</Button>
    case 'contact_operator':
      return <p>{action.text}</p>
  }
}
