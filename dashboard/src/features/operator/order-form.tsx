import type { UseMutationResult } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { failureIn } from '../../api/failure.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/states.tsx'

/** What was typed, or what is wrong with it by the name of the control. */
export type Read<T> = { readonly typed: T } | { readonly wrong: Readonly<Record<string, string>> }

/** A dialog with a form of one order. `read` judges what was typed; the first wrong control gets the focus. */
export function OrderForm<T>({ title, order, read, onClose, children }: OrderFormProps<T>) {
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({})
  // Not the order's own state: a second press may come before the screen knows of the first.
  const sending = useRef(false)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const result = read(new FormData(form))
    setErrors('wrong' in result ? result.wrong : {})
    if (!('wrong' in result)) {
      if (sending.current) return
      sending.current = true
      order.mutate(result.typed, { onSettled: () => (sending.current = false) })
      return
    }
    const [first] = Object.keys(result.wrong)
    form.querySelector<HTMLElement>(`[name="${first}"]`)?.focus()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form noValidate onSubmit={submit} className="grid gap-4">
        {children(errors)}
        <FormFailure failure={failureIn(order)} />
        <DialogButtons>
          <Button onClick={onClose}>{TEXT.cancel}</Button>
          <Button type="submit" tone="primary" busy={order.isPending}>
            {title}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

type OrderFormProps<T> = {
  /** Also what the button says. */
  title: string
  order: UseMutationResult<unknown, Error, T>
  read: (form: FormData) => Read<T>
  onClose: () => void
  children: (errors: Readonly<Record<string, string>>) => ReactNode
}

export function textOf(form: FormData, name: string): string {
  return String(form.get(name) ?? '').trim()
}
