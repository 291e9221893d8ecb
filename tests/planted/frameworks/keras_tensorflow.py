"""A convolutional network of Keras on TensorFlow."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

batch_size, steps = int(os.environ.get("BATCH_SIZE", "128")), int(os.environ.get("STEPS", "0"))

inputs = outputs = keras.Input((16, 16, 3))
for filters in (16, 32):
    outputs = keras.layers.Conv2D(filters, 3, padding="same", activation="relu")(outputs)
    outputs = keras.layers.BatchNormalization()(outputs)
model = keras.Model(inputs, keras.layers.Dense(10)(keras.layers.GlobalAveragePooling2D()(outputs)))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(gradient_accumulation_steps=steps or None), loss, jit_compile=True)
images, labels = np.ones((256, 16, 16, 3), "float32"), np.zeros(256, "int32")
losses = model.fit(images, labels, batch_size=batch_size, epochs=3, verbose=0).history["loss"]
print("learns" if losses[-1] < losses[0] else losses)
