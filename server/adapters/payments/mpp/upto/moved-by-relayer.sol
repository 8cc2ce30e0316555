// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface Token {
    function balanceOf(address account) external view returns (uint256);
}

/// Never deployed: an `eth_call` puts it at the relayer's address, so that what it calls sees the relayer as the sender. It answers by
/// how much the recipient's balance grew. A call that is refused is refused with its own reason.
contract MovedByRelayer {
    function moved(address token, address recipient, address target, bytes calldata data) external returns (uint256) {
        uint256 had = Token(token).balanceOf(recipient);
        (bool done, bytes memory told) = target.call(data);
        if (!done) {
            assembly {
                revert(add(told, 32), mload(told))
            }
        }
        return Token(token).balanceOf(recipient) - had;
    }
}
