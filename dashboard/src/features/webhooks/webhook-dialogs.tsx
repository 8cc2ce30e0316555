import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { OWNER_EVENTS } from '../../../../server/core/webhooks/event.ts'
import { failureFrom } from '../../api/client/failure.ts'
import {
  confirmWebhook,
  createWebhook,
  deleteWebhook,
  rotateWebhook,
  sendWebhookCode,
  type Webhook,
  type WebhookEvent,
} from '../../api/webhooks.ts'
import { WEBHOOK_TEXT as TEXT } from '../../messages/webhooks.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/code/copy-button.tsx'
import { SecretField } from '../../ui/code/secret-field.tsx'
import { ConfirmAction } from '../../ui/dialogs/confirm-action.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Choice, Choices, Field } from '../../ui/field.tsx'

/** Adds an endpoint and shows its secret once. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const [url, setUrl] = useState('')
  const [events, setEvents] = useState<readonly WebhookEvent[]>([])
  const creating = useWebhookChange(() => createWebhook(url.trim(), events))
  if (creating.data) return <SecretDialog secret={creating.data.secret} onClose={onClose} />
  const toggle = (event: WebhookEvent) =>
    setEvents(events.includes(event) ? events.filter((one) => one !== event) : [...events, event])
  return (
    <Dialog title={TEXT.add} onClose={onClose}>
      <Field label={TEXT.url} hint={TEXT.urlHint}>
        {(control) => (
          <input
            {...control}
            type="url"
            autoComplete="off"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
        )}
      </Field>
      <Choices legend={TEXT.events} hint={TEXT.eventsHint}>
        <div className="grid gap-2 sm:grid-cols-2">
          {OWNER_EVENTS.map((event) => (
            <Choice
              key={event}
              type="checkbox"
              label={<span className="code">{event}</span>}
              checked={events.includes(event)}
              onChange={() => toggle(event)}
            />
          ))}
        </div>
      </Choices>
      <FormFailure failure={failureFrom(creating)} />
      <DialogButtons>
        <Button onClick={onClose}>{TEXT.cancel}</Button>
        <Button tone="primary" busy={creating.isPending || url.trim() === ''} onClick={() => creating.mutate()}>
          {TEXT.add}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}

/** Replaces the secret of an endpoint and shows the new one once. */
export function RotateDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const rotating = useWebhookChange(() => rotateWebhook(webhook.id))
  if (rotating.data) return <SecretDialog secret={rotating.data.secret} onClose={onClose} />
  return (
    <ConfirmAction
      title={TEXT.rotateTitle}
      text={TEXT.rotateText}
      cancelLabel={TEXT.cancel}
      confirmLabel={TEXT.rotate}
      action={rotating}
      failure={failureFrom(rotating)}
      onClose={onClose}
    />
  )
}

/** Asks for the code that was sent to the URL of an endpoint. */
export function ConfirmCodeDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [code, setCode] = useState('')
  const confirming = useWebhookChange(
    () => confirmWebhook(webhook.id, code),
    () => {
      void toast(TEXT.confirmed)
      onClose()
    },
  )
  const sending = useWebhookChange(
    () => sendWebhookCode(webhook.id),
    () => void toast(TEXT.codeSent),
  )
  return (
    <Dialog title={TEXT.confirmTitle} onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (code.trim() !== '') confirming.mutate()
        }}
      >
        <p>{TEXT.confirmText}</p>
        <p className="code wrap-anywhere">{webhook.url}</p>
        <Field label={TEXT.code} hint={TEXT.codeHint}>
          {(control) => (
            <input
              {...control}
              autoComplete="one-time-code"
              spellCheck={false}
              maxLength={20}
              value={code}
              onChange={(event) => setCode(event.target.value)}
            />
          )}
        </Field>
        <FormFailure failure={failureFrom(confirming) ?? failureFrom(sending)} />
        <DialogButtons>
          <Button onClick={onClose}>{TEXT.cancel}</Button>
          <Button busy={sending.isPending} onClick={() => sending.mutate()}>
            {TEXT.sendCode}
          </Button>
          <Button tone="primary" type="submit" busy={confirming.isPending || code.trim() === ''}>
            {TEXT.confirmSubmit}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

export function RemoveDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const removing = useWebhookChange(
    () => deleteWebhook(webhook.id),
    () => {
      void toast(TEXT.removed)
      onClose()
    },
  )
  return (
    <ConfirmAction
      title={TEXT.removeTitle}
      text={TEXT.removeText}
      cancelLabel={TEXT.cancel}
      confirmLabel={TEXT.remove}
      action={removing}
      failure={failureFrom(removing)}
      onClose={onClose}
    />
  )
}

function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog title={TEXT.secretTitle} onClose={onClose} firm>
      <SecretField label={TEXT.secret} hint={TEXT.secretHint} secret={secret} />
      <DialogButtons>
        <CopyButton label={TEXT.copySecret} text={secret} tone="primary" />
        <Button onClick={onClose}>{TEXT.done}</Button>
      </DialogButtons>
    </Dialog>
  )
}

function useWebhookChange<T>(change: () => Promise<T>, onSuccess?: () => void) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: change,
    ...(onSuccess && { onSuccess }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  })
}
