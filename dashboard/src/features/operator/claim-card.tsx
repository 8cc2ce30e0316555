import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { accountQuery, claimOperator } from '../../api/account/account.ts'
import { toApiFailure } from '../../api/client/failure.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Field } from '../../ui/field.tsx'
import { Card } from '../../ui/layout/card.tsx'

/** The form for the one-time token that makes this account the operator. The token never appears in a URL. */
export function ClaimCard() {
  const client = useQueryClient()
  const claiming = useMutation({
    mutationFn: claimOperator,
    onSuccess: () => client.invalidateQueries({ queryKey: accountQuery.queryKey }),
  })
  const failure = claiming.error === null ? null : toApiFailure(claiming.error)
  const isWrong = failure?.code === 'insufficient_permissions'
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    claiming.mutate(String(new FormData(event.currentTarget).get('token')).trim())
  }
  return (
    <Card title={TEXT.claim}>
      <form onSubmit={onSubmit} className="grid max-w-md gap-4">
        <Field label={TEXT.claimToken} hint={TEXT.claimText} error={isWrong ? failure.message : undefined}>
          {(control) => <input {...control} name="token" required autoComplete="off" spellCheck={false} />}
        </Field>
        <FormFailure failure={isWrong ? null : failure} />
        <div>
          <Button type="submit" tone="primary" busy={claiming.isPending}>
            {TEXT.claim}
          </Button>
        </div>
      </form>
    </Card>
  )
}
