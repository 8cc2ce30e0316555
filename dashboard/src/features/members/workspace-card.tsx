import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { accountQuery } from '../../api/account/account.ts'
import { renameWorkspace } from '../../api/account/workspaces.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { MEMBER_TEXT as TEXT } from '../../messages/members.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Field } from '../../ui/field.tsx'
import { Card } from '../../ui/layout/card.tsx'

export function WorkspaceCard() {
  const queries = useQueryClient()
  const name = useQuery(accountQuery).data?.workspace
  const [typed, setTyped] = useState<string | null>(null)
  const shown = typed ?? name ?? ''
  const saving = useMutation({
    mutationFn: () => renameWorkspace(shown.trim()),
    onSuccess: () => void toast(TEXT.renamed),
    onSettled: () =>
      Promise.all(['account', 'workspaces'].map((key) => queries.invalidateQueries({ queryKey: [key] }))),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (shown.trim() !== '' && !saving.isPending) saving.mutate()
  }
  return (
    <Card title={TEXT.workspace}>
      <form noValidate onSubmit={submit} className="grid max-w-md gap-3">
        <Field label={TEXT.name} hint={TEXT.nameHint}>
          {(control) => (
            <input {...control} value={shown} maxLength={64} onChange={({ target }) => setTyped(target.value)} />
          )}
        </Field>
        <FormFailure failure={failureFrom(saving)} />
        <Button type="submit" busy={saving.isPending} className="justify-self-start">
          {TEXT.save}
        </Button>
      </form>
    </Card>
  )
}
