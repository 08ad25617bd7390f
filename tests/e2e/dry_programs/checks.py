"""Programs that look whether their values are fit go on as with values that are. And what isn't: a mask that nothing is known of."""
import torch

x = torch.randn(4, 16, 64, device="cuda")
assert torch.isfinite(x).all() and not torch.isnan(x).any() and not (x > 0).any() and not torch.logical_and(x[0, 0, 0], x[0, 0, 1])
assert torch.equal(x, x.clone()) and torch.allclose(x, x)
assert torch.distributions.Normal(x, x.exp()).sample().shape == x.shape
assert torch.normal(x, x.exp()).shape == x.shape and torch.multinomial(x[0].exp(), 1).shape == (16, 1)
layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
encoder = torch.nn.TransformerEncoder(layer, 2).cuda().eval()
with torch.inference_mode():  # by nested tensors, if the mask were known
    padded = encoder(x, src_key_padding_mask=torch.zeros(4, 16, dtype=torch.bool, device="cuda"))
assert padded.shape == x.shape
print("went on")
