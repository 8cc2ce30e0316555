import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { failureFrom } from '../../api/client/failure.ts'
import { SOCIAL, type SocialAccount, type SocialAccounts, type StartedLink, startLink } from '../../api/social.ts'
import { SOCIAL_TEXT as TEXT } from '../../messages/social.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Choice, Choices, Field, Select } from '../../ui/field.tsx'
import { WaitForApproval } from './wait-for-approval.tsx'

/** Required by every permission (spec D7). The gateway always adds them, so they are not offered. */
const ALWAYS: readonly string[] = ['tweet.read', 'users.read']

/** Links an account to a key: choice of key and permissions, then the wait for the approval in another tab. */
export function LinkDialog({ onClose, ...form }: LinkDialogProps) {
  const [started, setStarted] = useState<{ keyId: string; link: StartedLink } | null>(null)
  if (started) return <WaitForApproval started={started} onAgain={() => setStarted(null)} onClose={onClose} />
  return <LinkForm {...form} onStarted={setStarted} onClose={onClose} />
}

type LinkDialogProps = {
  scopes: SocialAccounts['scopes']
  /** To choose from, besides the chosen one. */
  keys: readonly SocialAccount['key'][]
  chosen: SocialAccount | null
  onClose: () => void
}

function LinkForm({ scopes: offered, keys, chosen, onStarted, onClose }: LinkFormProps) {
  const [keyId, setKeyId] = useState(chosen?.key.id ?? keys[0]?.id ?? '')
  const [scopes, setScopes] = useState<readonly string[]>(offered.map(({ name }) => name))
  const [pressed, setPressed] = useState(false)
  const queries = useQueryClient()
  const starting = useMutation({
    mutationFn: () => startLink(keyId, scopes),
    onSuccess: (link) => {
      void queries.invalidateQueries({ queryKey: SOCIAL })
      onStarted({ keyId, link })
    },
  })
  const choosable = offered.filter(({ name }) => !ALWAYS.includes(name))
  const nothing = !choosable.some(({ name }) => scopes.includes(name))
  return (
    <Dialog title={TEXT.linkTitle} onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          setPressed(true)
          if (!nothing && !starting.isPending) starting.mutate()
        }}
      >
        <Field label={TEXT.key}>
          {(control) => (
            <Select
              {...control}
              value={keyId}
              onChange={(event) => setKeyId(event.target.value)}
              options={keys.map(({ id, name }) => ({ value: id, text: name }))}
            />
          )}
        </Field>
        <Choices
          legend={TEXT.permissions}
          hint={TEXT.permissionsHint}
          error={pressed && nothing ? TEXT.onePermission : undefined}
        >
          {offered.map(({ name, meaning }) => (
            <Choice
              key={name}
              type="checkbox"
              label={meaning}
              checked={scopes.includes(name)}
              disabled={ALWAYS.includes(name)}
              onChange={({ target }) =>
                setScopes(target.checked ? [...scopes, name] : scopes.filter((scope) => scope !== name))
              }
            />
          ))}
        </Choices>
        <FormFailure failure={failureFrom(starting)} />
        <DialogButtons>
          <Button onClick={onClose}>{TEXT.cancel}</Button>
          <Button type="submit" tone="primary" busy={starting.isPending}>
            {TEXT.continue}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

type LinkFormProps = LinkDialogProps & { onStarted: (started: { keyId: string; link: StartedLink }) => void }
