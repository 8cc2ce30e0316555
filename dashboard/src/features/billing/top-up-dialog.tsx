import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { billingQuery, topUp } from '../../api/billing.ts'
import { failureIn } from '../../api/failure.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialog.tsx'
import { Choice, Choices, Field } from '../../ui/field.tsx'
import { balanceUsd, typedUsd } from '../../ui/money.ts'
import { FormFailure } from '../../ui/states.tsx'
import { toast } from '../../ui/toast.ts'
import { BILLING_WORDS as WORDS } from '../../words/billing.ts'

const LEAST = 1_000_000
const MOST = 10_000_000_000

/** The button and the dialog behind it. What was typed stays when it is refused. */
export function TopUpButton() {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button tone="primary" onClick={() => setOpen(true)}>
        {WORDS.topUp}
      </Button>
      {open && <TopUpDialog onClose={() => setOpen(false)} />}
    </>
  )
}

function TopUpDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const methods = useQuery(billingQuery).data?.topup_methods ?? []
  const [wrong, setWrong] = useState<string>()
  const paying = useMutation({
    mutationFn: topUp,
    onSuccess: async ({ topup, url }) => {
      void toast(url === null ? WORDS.done(balanceUsd(topup.amount_micros_usd)) : WORDS.opened)
      if (url !== null) window.open(url, '_blank', 'noopener')
      onClose()
      await queries.invalidateQueries({ queryKey: ['billing'] })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const micros = typedUsd(String(data.get('amount') ?? ''))
    const method = methods.find((name) => name === data.get('method'))
    const bad = micros === null || micros < LEAST || micros > MOST
    setWrong(bad ? WORDS.amountWrong : undefined)
    if (bad || !method) return event.currentTarget.querySelector<HTMLElement>('[name=amount]')?.focus()
    if (!paying.isPending) paying.mutate({ amount: (micros / 1_000_000).toFixed(2), method })
  }
  return (
    <Dialog title={WORDS.topUp} onClose={onClose}>
      {methods.length === 0 ? (
        <p>{WORDS.none}</p>
      ) : (
        <form noValidate onSubmit={submit} className="grid gap-4">
          <Field label={WORDS.amount} hint={WORDS.amountHint} error={wrong}>
            {(control) => <input {...control} name="amount" inputMode="decimal" defaultValue="10" required />}
          </Field>
          <Choices legend={WORDS.method} hint={methods.includes('sandbox') ? WORDS.sandboxText : undefined}>
            {methods.map((method, at) => (
              <Choice
                key={method}
                name="method"
                value={method}
                label={WORDS.methods[method]}
                defaultChecked={at === 0}
              />
            ))}
          </Choices>
          <FormFailure failure={failureIn(paying)} />
          <DialogButtons>
            <Button onClick={onClose}>{WORDS.cancel}</Button>
            <Button type="submit" tone="primary" busy={paying.isPending}>
              {paying.isPending ? WORDS.paying : WORDS.pay}
            </Button>
          </DialogButtons>
        </form>
      )}
    </Dialog>
  )
}
