import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { failureFrom } from '../../api/client/failure.ts'
import { type ApiKey, rotateKey } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Choice, Choices } from '../../ui/field.tsx'
import type { CreatedKey } from './form/key-form.tsx'
import { useKeysRefresh } from './use-key-actions.ts'

const DAY_SECONDS = 86_400
const HOUR_MS = 3_600_000

/** Creates the successor of a key, with a choice of when the old key stops. */
export function RotateKeyDialog({ apiKey, onClose, onCreated }: RotateProps) {
  const [grace, setGrace] = useState(DAY_SECONDS)
  const rotating = useMutation({
    mutationFn: () => rotateKey(apiKey.id, grace),
    onSuccess: onCreated,
    ...useKeysRefresh(),
  })
  const used = apiKey.last_used_at !== null && Date.now() - Date.parse(apiKey.last_used_at) < HOUR_MS
  return (
    <Dialog title={`${TEXT.rotateTitle}: ${apiKey.name}`} onClose={onClose}>
      <p className="text-muted">{TEXT.rotateText}</p>
      <Choices legend={TEXT.oldStops}>
        {Object.entries(TEXT.graces).map(([seconds, label]) => (
          <Choice
            key={seconds}
            name="grace"
            label={label}
            checked={grace === Number(seconds)}
            onChange={() => setGrace(Number(seconds))}
          />
        ))}
      </Choices>
      {grace === 0 && used && (
        <p role="status" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
          {TEXT.usedJustNow}
        </p>
      )}
      <FormFailure failure={failureFrom(rotating)} />
      <DialogButtons>
        <Button onClick={onClose}>{TEXT.cancel}</Button>
        <Button tone="primary" busy={rotating.isPending} onClick={() => rotating.mutate()}>
          {TEXT.rotate}
        </Button>
      </DialogButtons>
    </Dialog>
  )
}

type RotateProps = { apiKey: ApiKey; onClose: () => void; onCreated: (made: CreatedKey) => void }
