"""A U-Net for segmentation: skip connections by cat, bilinear upsampling, Dice loss, AMP code."""

import logging

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader, Dataset, random_split


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, n_channels=1, n_classes=2):
        super().__init__()
        self.n_channels, self.n_classes = n_channels, n_classes
        self.inc = DoubleConv(n_channels, 4)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(4, 8))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(8, 8))
        self.up1, self.up2 = Up(16, 4), Up(8, 4)
        self.outc = nn.Conv2d(4, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        return self.outc(self.up2(self.up1(x3, x2), x1))


def dice_coeff(input, target, reduce_batch_first=False, epsilon=1e-6):
    sum_dim = (-1, -2) if input.dim() == 2 or not reduce_batch_first else (-1, -2, -3)
    inter = 2 * (input * target).sum(dim=sum_dim)
    sets_sum = input.sum(dim=sum_dim) + target.sum(dim=sum_dim)
    sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
    return ((inter + epsilon) / (sets_sum + epsilon)).mean()


def dice_loss(input, target):
    return 1 - dice_coeff(input.flatten(0, 1), target.flatten(0, 1), reduce_batch_first=True)


class Blobs(Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.images = rng.normal(size=(10, 1, 9, 9)).astype(np.float32)
        self.masks = (self.images[:, 0] > 0.3).astype(np.int64)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {
            "image": torch.as_tensor(self.images[i].copy()).float().contiguous(),
            "mask": torch.as_tensor(self.masks[i].copy()).long().contiguous(),
        }


def build():
    return UNet()


def train(model):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    amp = torch.cuda.is_available()
    dataset = Blobs()
    _, rest = random_split(dataset, [2, 8], generator=torch.Generator().manual_seed(0))
    loader = DataLoader(dataset, shuffle=False, batch_size=5, num_workers=0, drop_last=True)
    optimizer = optim.RMSprop(
        model.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9, foreach=True
    )
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=1)
    grad_scaler = torch.amp.GradScaler(device.type, enabled=amp)
    criterion = nn.CrossEntropyLoss() if model.n_classes > 1 else nn.BCEWithLogitsLoss()
    found = [len(rest)]
    for epoch in range(4):
        model.train()
        for batch in loader:
            images, true_masks = batch["image"], batch["mask"]
            assert images.shape[1] == model.n_channels
            images = images.to(device=device, dtype=torch.float32,
                               memory_format=torch.channels_last)  # fmt: skip
            true_masks = true_masks.to(device=device, dtype=torch.long)
            with torch.autocast(device.type if device.type != "mps" else "cpu", enabled=amp):
                masks_pred = model(images)
                loss = criterion(masks_pred, true_masks)
                loss += dice_loss(
                    F.softmax(masks_pred, dim=1).float(),
                    F.one_hot(true_masks, model.n_classes).permute(0, 3, 1, 2).float(),
                )
            optimizer.zero_grad(set_to_none=True)
            grad_scaler.scale(loss).backward()
            grad_scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            grad_scaler.step(optimizer)
            grad_scaler.update()
            found.append(loss.item())
        model.eval()
        with torch.no_grad():
            pred = model(torch.stack([dataset[i]["image"] for i in range(4)])).argmax(dim=1)
        score = (pred == torch.stack([dataset[i]["mask"] for i in range(4)])).float().mean()
        scheduler.step(score)
        logging.debug("score %s", score)
        found.append(optimizer.param_groups[0]["lr"])
    return found
